import type { Skill } from '@skillstoke/core'

/** A place in a skill as a URI names it; the path is empty for the folder of the skill itself. */
export interface SkillUri {
  readonly name: string
  readonly path: string
}

/** The name by which the Skills extension knows the file with the instructions. */
export const MANIFEST_FILE = 'SKILL.md'

/** `skill://<name>/<path>`, each segment percent-encoded; the folder of the skill when there is no path. */
export function toSkillUri(name: string, path = ''): string {
  const segments = path === '' ? [name] : [name, ...path.split('/')]
  return `skill://${segments.map(encodeURIComponent).join('/')}`
}

/** The URI of a file of a skill. A `skill.md` is served under the name that the extension wants. */
export function toFileUri(skill: Skill, path: string): string {
  return toSkillUri(skill.name, path === skill.skillFile ? MANIFEST_FILE : path)
}

/** `undefined` when it is no URI of ours, or has a query, a fragment or a segment that leads elsewhere. */
export function parseSkillUri(uri: string): SkillUri | undefined {
  const match = /^skill:\/\/([^?#]+)$/i.exec(uri)
  if (match?.[1] === undefined) return undefined
  const segments = match[1].replace(/\/$/, '').split('/').map(decodeSegment)
  const [name, ...path] = segments
  if (name === undefined || !segments.every(isPlainSegment)) return undefined
  return { name, path: path.join('/') }
}

/** The path of the file within the skill that a URI's path stands for. */
export function toFilePath(skill: Skill, uriPath: string): string {
  return uriPath === MANIFEST_FILE ? skill.skillFile : uriPath
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).normalize('NFC')
  } catch {
    return undefined // a malformed escape: names nothing
  }
}

function isPlainSegment(segment: string | undefined): boolean {
  return (
    segment !== undefined && segment !== '' && segment !== '.' && segment !== '..' && !/[/\\\0]/.test(segment)
  )
}
