import { quote } from '../quote.ts'
import { findNameFaults, isLoadableName } from '../skill/skill-name.ts'

/** The values of `WritableNames` that are not patterns. */
export const WRITABLE_NAMES = ['strict', 'lenient'] as const

/**
 * The rule for names of new skills. `strict` applies the rules of agentskills.io and allows only ASCII. `lenient`
 * applies the same rules, but also allows letters of other alphabets. A pattern replaces these rules.
 */
export type WritableNames = (typeof WRITABLE_NAMES)[number] | RegExp

/** Names of other products. New skill names must not contain these words. */
export const RESERVED_WORDS: readonly string[] = Object.freeze(['anthropic', 'claude'])

const MAX_LENGTH = 64

/**
 * Returns the fault of a name as a phrase that starts with a verb, for example `is empty`. Returns `undefined` if the
 * name is allowed.
 */
export function findNameFault(
  name: string,
  rule: WritableNames,
  reserved: readonly string[],
): string | undefined {
  if (name === '') return 'is empty; use lower-case letters, digits and hyphens'
  const { length } = [...name]
  if (length > MAX_LENGTH) return `has ${length} characters; at most ${MAX_LENGTH} are allowed`
  if (rule === 'strict' && !/^[a-z0-9-]+$/.test(name))
    return 'has characters other than a to z, 0 to 9 and hyphens'
  if (!isLoadableName(name) || name.startsWith('.')) return 'is not a safe name for a folder'
  const word = reserved.find(each =>
    name
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .includes(each),
  )
  if (word !== undefined) return `has the reserved word ${quote(word)}`
  if (rule instanceof RegExp) {
    // With the flags g or y, a pattern would start at the end of its previous match and refuse allowed names.
    const pattern = new RegExp(rule.source, rule.flags.replace(/[gy]/g, ''))
    return pattern.test(name) ? undefined : `does not match ${rule.source}`
  }
  return findNameFaults(name)[0]
}
