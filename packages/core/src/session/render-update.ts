import { escapeText } from '../catalog/escape.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { ListingDiff } from './listing-diff.ts'
import type { LoadedChange, LoadedFileChange } from './loaded-change.ts'

const MAX_NAMES = 12
const MAX_CHARACTERS = 1_200
const MAX_DESCRIPTION = 300
const MAX_FILES = 6
const MAX_PATH = 80

/**
 * Renders the net changes as one short message. Loaded skills come first, because outdated instructions do the most
 * harm. The last line counts the changes that did not fit.
 */
export function renderUpdate(diff: ListingDiff, loaded: readonly LoadedChange[], digest: Digest): string {
  const lines = [
    ...loaded.map(describeLoaded),
    ...diff.removed.map(name => `- removed: ${escapeText(name)}`),
    ...diff.added.map(skill => `- added: ${describeSkill(skill)}`),
    ...diff.redescribed.map(skill => `- description changed: ${describeSkill(skill)}`),
  ]
  const shown: string[] = []
  let characters = 0
  for (const line of lines) {
    if (shown.length === MAX_NAMES || characters + line.length > MAX_CHARACTERS) break
    shown.push(line)
    characters += line.length
  }
  const rest = lines.length - shown.length
  if (rest > 0) {
    const count = shown.length === 0 ? `${rest} skills changed` : `${rest} more skills changed`
    shown.push(`- ${count}; the skill tool lists and searches them`)
  }
  return [`<skills_update generation="${shortDigest(digest)}">`, ...shown, '</skills_update>'].join('\n')
}

function describeLoaded({ entry, skill, needsLoading, files }: LoadedChange): string {
  const name = escapeText(entry.name)
  const before = shortDigest(entry.revision)
  const now = shortDigest(skill.revision)
  const what = describeFiles(files)
  if (skill.revision === entry.revision) return `- you loaded ${name} at ${now}; it is ${now} again${what}`
  const change = `- you loaded ${name} at ${before}, it is now ${now}`
  if (needsLoading) return `${change}: load it again before relying on it${what}`
  const answers = files?.length === 0 ? '' : '; reads and calls answer from the new files'
  return `${change} with the same instructions${what}${answers}`
}

const KINDS = ['changed', 'added', 'removed'] as const satisfies readonly LoadedFileChange['kind'][]

function describeFiles(files: LoadedChange['files']): string {
  if (files === undefined) return '; other files changed'
  const shown = files.slice(0, MAX_FILES)
  const parts = KINDS.flatMap(kind => {
    const paths = shown.filter(file => file.kind === kind).map(({ path }) => describePath(path))
    return paths.length === 0 ? [] : `; ${kind}: ${paths.join(', ')}`
  })
  const rest = files.length - shown.length
  return `${parts.join('')}${rest > 0 ? `; and ${rest} more files` : ''}`
}

/**
 * Quotes a path that could be mistaken for other text of the notice. Escaping has replaced all quotation marks in the
 * path.
 */
function describePath(path: string): string {
  const escaped = escapeText(path)
  const short = escaped.length > MAX_PATH ? `${escaped.slice(0, MAX_PATH - 1)}…` : escaped
  return /^[\w./@+-]+$/.test(short) ? short : `"${short}"`
}

function describeSkill(skill: Skill): string {
  const description = escapeText(skill.description)
  const short =
    description.length > MAX_DESCRIPTION ? `${description.slice(0, MAX_DESCRIPTION - 1)}…` : description
  return `${escapeText(skill.name)}: ${short}`
}
