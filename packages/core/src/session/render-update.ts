import type { LedgerEntry } from '../activation/ledger.ts'
import { escapeText } from '../catalog/escape.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { ListingDiff } from './listing-diff.ts'

/** A skill in the conversation's context that is now another revision. */
export interface LoadedChange {
  readonly entry: LedgerEntry
  readonly skill: Skill
}

const MAX_NAMES = 12
const MAX_CHARACTERS = 1_200
const MAX_DESCRIPTION = 300

/**
 * The one message that tells a conversation the net difference: facts, not commands, and short. What does not fit is
 * counted; skills that the conversation has loaded come first, because stale instructions do the most harm.
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

function describeLoaded({ entry, skill }: LoadedChange): string {
  const name = escapeText(entry.name)
  const now = shortDigest(skill.revision)
  if (skill.revision === entry.revision) return `- you loaded ${name} at ${now}; it is ${now} again`
  return `- you loaded ${name} at ${shortDigest(entry.revision)}, it is now ${now}: load it again before relying on it`
}

function describeSkill(skill: Skill): string {
  const description = escapeText(skill.description)
  const short =
    description.length > MAX_DESCRIPTION ? `${description.slice(0, MAX_DESCRIPTION - 1)}…` : description
  return `${escapeText(skill.name)}: ${short}`
}
