import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'

declare const brand: unique symbol

/**
 * A valid relative path inside a skill or a source: never empty, never outside the folder, in NFC, with `/` between
 * segments. `parseSkillPath` checks every path that comes from a tool call, a URL, an archive or the command line.
 */
export type SkillPath = string & { readonly [brand]: 'SkillPath' }

const MAX_SEGMENT_BYTES = 255
const MAX_SEGMENTS = 32
// Windows opens a device for these names, with any extension. A skill with such a name could not be checked out on
// Windows.
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern refuses control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/**
 * Parses a relative path. Only a segment that *is* `..` is refused: `notes..md` and Kubernetes' `..data` are ordinary
 * names. Percent signs are not decoded: `%2e%2e` is an ordinary name.
 * @throws {SkillError} INVALID_PATH with the fault and a correct form
 */
export function parseSkillPath(text: string): SkillPath {
  const reason = findPathFault(text)
  if (reason !== undefined) {
    throw new SkillError('INVALID_PATH', `path ${quote(text)} ${reason}`, { data: { path: text } })
  }
  return text.normalize('NFC') as SkillPath
}

/** Returns why the text is not a `SkillPath`, as the second half of a sentence, or `undefined` when it is a valid path. */
export function findPathFault(text: string): string | undefined {
  if (text === '') return 'is empty; name a file such as "references/guide.md"'
  if (!text.isWellFormed()) return 'has an unpaired surrogate; use well-formed Unicode'
  if (CONTROL.test(text)) return 'has a control character; use printable characters'
  if (text.includes('\\')) return 'has a backslash; separate folders with "/"'
  if (text.startsWith('/')) return 'is absolute; use a path relative to the folder'
  if (text.includes(':')) return 'has a colon (a drive, a URL or a stream); use a plain relative path'
  const segments = text.split('/')
  if (segments.length > MAX_SEGMENTS)
    return `has ${segments.length} segments; at most ${MAX_SEGMENTS} are allowed`
  for (const segment of segments) {
    const reason = findSegmentFault(segment)
    if (reason !== undefined) return reason
  }
  return undefined
}

function findSegmentFault(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment; write single slashes and none at the end'
  if (segment === '.' || segment === '..') return `has the segment "${segment}"; name the file itself`
  const last = segment[segment.length - 1]
  if (last === '.' || last === ' ') return `has the segment ${quote(segment)}, which ends in a dot or space`
  if (RESERVED.test(segment)) return `has the reserved device name ${quote(segment)}`
  // A UTF-16 unit takes at most three bytes in UTF-8, so the byte length of short segments needs no check.
  if (
    segment.length * 3 > MAX_SEGMENT_BYTES &&
    new TextEncoder().encode(segment).length > MAX_SEGMENT_BYTES
  ) {
    return `has a segment longer than ${MAX_SEGMENT_BYTES} bytes`
  }
  return undefined
}

/** Whether a name is safe as a single path segment. Every skill name must be a safe segment. */
export function isSafeSegment(name: string): boolean {
  return !name.includes('/') && findPathFault(name) === undefined
}
