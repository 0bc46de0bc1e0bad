import { SkillError } from '@skillstoke/core'
import { decodeText, quote, showValue } from '@skillstoke/core/internal'

/** One skill of an index. */
export type IndexEntry =
  | {
      readonly kind: 'skill-md' | 'archive'
      readonly name: string
      readonly url: URL
      readonly digest: string
    }
  /** A skill in the older format: a list of files below a folder, without digests. */
  | { readonly kind: 'files'; readonly name: string; readonly files: readonly { path: string; url: URL }[] }

export interface SkillIndex {
  readonly entries: readonly IndexEntry[]
  /** Describes the fault of each entry that could not be read. */
  readonly faults: readonly string[]
}

const MAX_ENTRIES = 2_000
const MAX_FILES = 512
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

/**
 * Reads `/.well-known/agent-skills/index.json`, or the older `/.well-known/skills/index.json`. Omits invalid entries
 * and reports each of them as a fault.
 * @throws {SkillError} IO_FAILED when the file is not an index; TOO_LARGE
 */
export function parseIndex(bytes: Uint8Array, base: URL): SkillIndex {
  let json: unknown
  try {
    json = JSON.parse(decodeText(bytes)?.replace(/^\ufeff/, '') ?? '')
  } catch (thrown) {
    throw new SkillError('IO_FAILED', `${base.href} is not valid JSON`, { cause: thrown })
  }
  const skills = (json as { skills?: unknown } | null)?.skills
  if (!Array.isArray(skills))
    throw new SkillError('IO_FAILED', `${base.href} has no list "skills", so it is not a skill index`)
  if (skills.length > MAX_ENTRIES)
    throw new SkillError(
      'TOO_LARGE',
      `${base.href} has ${skills.length} skills; at most ${MAX_ENTRIES} are read`,
    )
  const entries: IndexEntry[] = []
  const faults: string[] = []
  const names = new Set<string>()
  for (const [index, value] of skills.entries()) {
    const read = readEntry(value, base)
    if (typeof read === 'string') faults.push(`skills[${index}] ${read}`)
    else if (names.has(read.name)) faults.push(`skills[${index}] repeats the name ${quote(read.name)}`)
    else {
      names.add(read.name)
      entries.push(read)
    }
  }
  return { entries, faults }
}

/**
 * Returns the parsed entry. For an invalid entry, returns a phrase that describes the fault, for example `is not an
 * object`.
 */
function readEntry(value: unknown, base: URL): IndexEntry | string {
  if (typeof value !== 'object' || value === null) return 'is not an object'
  const { name, type, url, digest, files } = value as Record<string, unknown>
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name))
    return `has the name ${showValue(name)}, which is not a valid skill name`
  if (type === undefined && Array.isArray(files)) return readFiles(name, files, base)
  if (type !== 'skill-md' && type !== 'archive')
    return `has the type ${showValue(type)}; use "skill-md" or "archive"`
  if (typeof url !== 'string' || !URL.canParse(url, base.href))
    return `has the url ${showValue(url)}, which is not a valid URL`
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest))
    return `has the digest ${showValue(digest)}; use "sha256:" and 64 hexadecimal digits`
  return { kind: type, name, url: new URL(url, base), digest }
}

function readFiles(name: string, files: readonly unknown[], base: URL): IndexEntry | string {
  if (files.length > MAX_FILES) return `has ${files.length} files; at most ${MAX_FILES} are read`
  const found: { path: string; url: URL }[] = []
  for (const path of files) {
    const isSafe =
      typeof path === 'string' &&
      !/[\\:?#\0]/.test(path) &&
      path.split('/').every(part => part !== '' && part !== '.' && part !== '..')
    if (!isSafe) return `has the file ${showValue(path)}, which is not a path inside its folder`
    const encoded = path.split('/').map(encodeURIComponent).join('/')
    found.push({ path, url: new URL(`${name}/${encoded}`, base) })
  }
  if (!found.some(({ path }) => /^skill\.md$/i.test(path))) return 'has no SKILL.md among its files'
  return { kind: 'files', name, files: found }
}
