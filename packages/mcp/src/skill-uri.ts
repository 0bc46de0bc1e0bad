import type { Skill } from '@skillstoke/core'

/** The file or folder that a skill URI names. `path` is empty if the URI names the skill folder itself. */
export interface SkillUri {
  readonly name: string
  readonly path: string
}

/** Name that the Skills extension requires for the file that contains the instructions. */
export const MANIFEST_FILE = 'SKILL.md'

/**
 * Returns `skill://<name>/<path>` with percent-encoded segments. If `path` is omitted, the URI names the skill folder.
 *
 * @example
 * ```ts
 * import { toSkillUri } from '@skillstoke/mcp'
 *
 * console.log(toSkillUri('support-pdf', 'references/the form.md'))
 * // prints skill://support-pdf/references/the%20form.md
 * console.log(toSkillUri('support-pdf')) // prints skill://support-pdf
 * ```
 */
export function toSkillUri(name: string, path = ''): string {
  const segments = path === '' ? [name] : [name, ...path.split('/')]
  return `skill://${segments.map(encodeURIComponent).join('/')}`
}

/**
 * Returns the URI of a file of a skill. In the URI, a file `skill.md` is named `SKILL.md`, as the Skills extension
 * requires.
 */
export function toFileUri(skill: Skill, path: string): string {
  return toSkillUri(skill.name, path === skill.skillFile ? MANIFEST_FILE : path)
}

/**
 * Parses a skill URI. Returns `undefined` if the URI is not a skill URI, or has a query, a fragment or an unsafe
 * segment.
 *
 * @example
 * ```ts
 * import { parseSkillUri } from '@skillstoke/mcp'
 *
 * console.log(parseSkillUri('skill://support-pdf/SKILL.md')) // prints { name: 'support-pdf', path: 'SKILL.md' }
 * console.log(parseSkillUri('file:///etc/hosts')) // prints undefined
 * ```
 */
export function parseSkillUri(uri: string): SkillUri | undefined {
  const match = /^skill:\/\/([^?#]+)$/i.exec(uri)
  if (match?.[1] === undefined) return undefined
  const segments = match[1].replace(/\/$/, '').split('/').map(decodeSegment)
  const [name, ...path] = segments
  if (name === undefined || !segments.every(isPlainSegment)) return undefined
  return { name, path: path.join('/') }
}

/** Converts the path of a skill URI to the path of the file in the skill. */
export function toFilePath(skill: Skill, uriPath: string): string {
  return uriPath === MANIFEST_FILE ? skill.skillFile : uriPath
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).normalize('NFC')
  } catch {
    return undefined // malformed percent encoding
  }
}

function isPlainSegment(segment: string | undefined): boolean {
  return (
    segment !== undefined && segment !== '' && segment !== '.' && segment !== '..' && !/[/\\\0]/.test(segment)
  )
}
