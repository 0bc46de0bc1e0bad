import { findNameFaults } from '../skill/skill-name.ts'

/** Names that new skills may have: `strict` are ASCII and follow the specification, `lenient` follow it in any script. */
export type WritableNames = 'strict' | 'lenient' | RegExp

/** Words that belong to somebody else. */
export const RESERVED_WORDS: readonly string[] = Object.freeze(['anthropic', 'claude'])

const MAX_LENGTH = 64

/** Why a skill may not be called so, as the second half of a sentence; `undefined` when it may. */
export function findNameFault(
  name: string,
  rule: WritableNames,
  reserved: readonly string[],
): string | undefined {
  if (name === '') return 'is empty; use lower-case letters, digits and hyphens'
  const { length } = [...name]
  if (length > MAX_LENGTH) return `has ${length} characters; at most ${MAX_LENGTH} are allowed`
  if (rule instanceof RegExp) return rule.test(name) ? undefined : `does not match ${rule.source}`
  if (rule === 'strict' && !/^[a-z0-9-]+$/.test(name))
    return 'has characters other than a to z, 0 to 9 and hyphens'
  const [fault] = findNameFaults(name)
  if (fault !== undefined) return fault
  const word = reserved.find(each => name.split('-').includes(each))
  return word === undefined ? undefined : `has the reserved word ${JSON.stringify(word)}`
}
