import { quote } from '../quote.ts'
import { isSafeSegment } from './skill-path.ts'

export const MAX_NAME_LENGTH = 64

/** Returns the form in which names are compared: trimmed and NFKC, so that `ﬁle` and `file` are the same name. */
export function normalizeName(name: string): string {
  return name.trim().normalize('NFKC')
}

/**
 * Checks a normalised name against the rules of the specification. Returns each violation as the second half of a
 * sentence that begins with the name. Lengths are counted in code points. Letters and digits of every script are
 * allowed. Combining marks are not.
 */
export function findNameFaults(name: string): string[] {
  const faults: string[] = []
  const length = [...name].length
  if (length > MAX_NAME_LENGTH)
    faults.push(`has ${length} characters; at most ${MAX_NAME_LENGTH} are allowed`)
  if (name !== name.toLowerCase()) faults.push(`has capital letters; use ${quote(suggestName(name))}`)
  if (name.startsWith('-') || name.endsWith('-')) faults.push('starts or ends with a hyphen')
  if (name.includes('--')) faults.push('has two hyphens in a row')
  if (!/^[\p{L}\p{N}-]*$/u.test(name)) {
    faults.push(`has characters other than letters, digits and hyphens; use ${quote(suggestName(name))}`)
  }
  return faults
}

// Invisible characters and characters that reorder text: tags, bidirectional controls, private use, unassigned.
const HIDDEN = /[\u{E0000}-\u{E007F}\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C\p{Co}\p{Cn}\p{Cs}]/u

/**
 * Whether a skill may have this name. A name is one safe path segment, without characters that hide or reorder text.
 */
export function isLoadableName(name: string): boolean {
  return name !== '' && [...name].length <= 255 && isSafeSegment(name) && !HIDDEN.test(name)
}

/** Whether a text can identify a served skill, by its name or as `source/name`. */
export function isAddressable(text: string): boolean {
  const label = text.slice(0, Math.max(0, text.lastIndexOf('/')))
  return isLoadableName(unqualified(text)) && label.length <= 255 && !HIDDEN.test(label)
}

/** Returns the part `name` of `source/name`. A skill name contains no slash. */
export function unqualified(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1)
}

/** Returns the valid name that is nearest to an invalid name. */
export function suggestName(name: string): string {
  const words =
    normalizeName(name)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return [...words.join('-')].slice(0, MAX_NAME_LENGTH).join('').replace(/-$/, '') || 'my-skill'
}
