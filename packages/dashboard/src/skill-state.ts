import type { SkillRow } from 'skillstoke/client'
import { formatCount, plural } from './parts/format.ts'
import type { ShapeName } from './parts/icons.tsx'
import { attention, status } from './store.ts'

/** The groups of the list with their titles, the most urgent first. */
export const GROUPS = {
  attention: 'Needs attention',
  live: 'Live',
  unlisted: 'Unlisted: found by search',
  hidden: 'Hidden: only people invoke them',
  off: 'Not served',
} as const

/** How the page shows the state of a skill. */
export interface SkillState {
  readonly group: keyof typeof GROUPS
  readonly shape: ShapeName
  /** Empty for a live skill. */
  readonly word: string
  /** The same as a whole phrase. */
  readonly phrase: string
}

function toState(group: SkillState['group'], shape: ShapeName, word: string, phrase: string): SkillState {
  return { group, shape, word, phrase }
}

export function stateOf(row: SkillRow): SkillState {
  const stays = row.serving === null ? 'nothing is live' : 'the last good text is live'
  switch (row.status) {
    case 'broken':
      return toState('attention', 'broken', 'broken', `broken; ${stays}`)
    case 'pending':
      return toState('attention', 'wait', 'waiting', 'waiting for approval')
    case 'rejected':
      return row.serving === null
        ? toState('off', 'quiet', 'rejected', 'rejected; nothing is live')
        : { ...seen(row), word: 'newer rejected', phrase: 'live; a newer text was rejected' }
    case 'shadowed':
      return toState('off', 'quiet', 'shadowed', 'another folder has this name and comes first')
    case 'disabled':
      return toState('off', 'quiet', 'disabled', 'disabled for all agents')
    default:
      return findDoubt(row) ?? seen(row)
  }
}

/** Returns the state of a live skill that somebody should look at. */
function findDoubt(row: SkillRow): SkillState | undefined {
  const { collisions, failing } = attention.value
  const doubt = (word: string, phrase: string): SkillState =>
    toState('attention', 'warn', word, `live; ${phrase}`)
  const test = failing.find(({ skill }) => skill === row.name)
  if (test !== undefined) {
    const count = test.total - test.passed
    return doubt(plural(count, 'test fails', 'tests fail'), `${count} of ${test.total} tests fail`)
  }
  const pair = collisions.find(({ skills }) => skills.some(({ name }) => name === row.name))
  const other = pair?.skills.find(({ name }) => name !== row.name)
  if (other !== undefined) return doubt('collides', `fits the same messages as ${other.name}`)
  const count = row.diagnostics.filter(({ severity }) => severity !== 'info').length
  const words = plural(count, 'warning')
  return row.status === 'warning' && count > 0 ? doubt(words, words) : undefined
}

/** Returns the state of a skill without mistakes, by who sees it. */
function seen({ status: state, visibility, name }: SkillRow): SkillState {
  if (state === 'pinned') return toState('live', 'live', 'kept', 'kept at one text; newer saves are ignored')
  switch (visibility) {
    case 'listed':
      return toState('live', 'live', '', 'live')
    case 'unlisted':
      return toState('unlisted', 'unlisted', 'unlisted', 'unlisted: over the budget, found by search')
    case 'hidden':
      return toState('hidden', 'hidden', 'hidden', `hidden: only people invoke it, with /${name}`)
    case null:
      return toState('off', 'quiet', 'out of scope', 'out of the scope of this server')
    default:
      return visibility satisfies never
  }
}

/** Says why a model sees a skill, or not, and what that costs. */
export function explainCost({ tokens, visibility, name }: SkillRow): string {
  const listed = tokens === null ? '' : formatCount(tokens.listed)
  const more = tokens === null ? '' : formatCount(tokens.body)
  if (visibility === 'hidden') return `Only people invoke it, with /${name}. It costs no tokens.`
  if (visibility === 'unlisted') {
    const { tokens: used = 0, maxTokens = 0 } = status.value?.catalog ?? {}
    const need =
      listed === '' ? '' : `; needs ${listed} tokens, ${formatCount(Math.max(0, maxTokens - used))} are left`
    return `Unlisted: the catalog is full${need}. The model finds it by search.`
  }
  if (visibility === null) return 'No conversation sees it.'
  return tokens === null
    ? 'Listed for the model.'
    : `Listed for the model (${listed} tokens; its text is ${more} more).`
}

/** Says what agents read while the newest text is not live. */
export function describeStay(serving: string | null, text = 'The text before it'): string {
  return serving === null ? 'Nothing is live.' : `${text} stays live.`
}
