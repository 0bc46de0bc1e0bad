import type { SkillRow } from 'skillstoke/client'
import { formatCount, plural } from './parts/format.ts'
import type { ShapeName } from './parts/icons.tsx'
import { attention, status } from './store.ts'

/** The groups of the list, the most urgent first. */
export const GROUPS = ['attention', 'live', 'unlisted', 'hidden', 'off'] as const
export type Group = (typeof GROUPS)[number]

/** How the page shows the state of a skill. */
export interface SkillState {
  readonly group: Group
  readonly shape: ShapeName
  /** Empty for a live skill. */
  readonly word: string
  /** The same as a whole phrase. */
  readonly phrase: string
}

const LIVE: SkillState = { group: 'live', shape: 'live', word: '', phrase: 'live' }

export function stateOf(row: SkillRow): SkillState {
  const stays = row.serving === null ? 'nothing is live' : 'the last good text is live'
  switch (row.status) {
    case 'broken':
      return { group: 'attention', shape: 'broken', word: 'broken', phrase: `broken; ${stays}` }
    case 'pending':
      return { group: 'attention', shape: 'wait', word: 'waiting', phrase: 'waiting for approval' }
    case 'rejected':
      return row.serving === null
        ? { group: 'off', shape: 'quiet', word: 'rejected', phrase: 'rejected; nothing is live' }
        : { ...seen(row), word: 'newer rejected', phrase: 'live; a newer text was rejected' }
    case 'shadowed':
      return {
        group: 'off',
        shape: 'quiet',
        word: 'shadowed',
        phrase: 'another folder has this name and comes first',
      }
    case 'disabled':
      return { group: 'off', shape: 'quiet', word: 'disabled', phrase: 'disabled for all agents' }
    default:
      return findDoubt(row) ?? seen(row)
  }
}

/** Returns the state of a live skill that somebody should look at. */
function findDoubt(row: SkillRow): SkillState | undefined {
  const { collisions, failing } = attention.value
  const doubt = (word: string, phrase: string): SkillState => ({
    group: 'attention',
    shape: 'warn',
    word,
    phrase: `live; ${phrase}`,
  })
  const test = failing.find(({ skill }) => skill === row.name)
  if (test !== undefined) {
    const count = test.total - test.passed
    return doubt(plural(count, 'test fails', 'tests fail'), `${count} of ${test.total} tests fail`)
  }
  const pair = collisions.find(({ skills }) => skills.some(({ name }) => name === row.name))
  const other = pair?.skills.find(({ name }) => name !== row.name)
  if (other !== undefined) return doubt('collides', `fits the same messages as ${other.name}`)
  const count = row.diagnostics.filter(({ severity }) => severity !== 'info').length
  return row.status === 'warning' && count > 0
    ? doubt(plural(count, 'warning'), plural(count, 'warning'))
    : undefined
}

function seen({ status: state, visibility, name }: SkillRow): SkillState {
  if (state === 'pinned')
    return { group: 'live', shape: 'live', word: 'kept', phrase: 'kept at one text; newer saves are ignored' }
  if (visibility === 'unlisted')
    return {
      group: 'unlisted',
      shape: 'unlisted',
      word: 'unlisted',
      phrase: 'unlisted: over the budget, found by search',
    }
  if (visibility === 'hidden')
    return {
      group: 'hidden',
      shape: 'hidden',
      word: 'hidden',
      phrase: `hidden: only people invoke it, with /${name}`,
    }
  if (visibility === null)
    return { group: 'off', shape: 'quiet', word: 'out of scope', phrase: 'out of the scope of this server' }
  return LIVE
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
