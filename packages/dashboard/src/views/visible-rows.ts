import { computed } from '@preact/signals'
import type { SkillRow } from 'skillstoke/client'
import { go, goQuietly, route, toHash } from '../route.ts'
import { GROUPS, type Group, stateOf } from '../skill-state.ts'
import { findRow, rows, timeline } from '../store.ts'

/** What the list can be limited to. The address has the name, and the page the words. */
export const CHIPS = {
  attention: 'Attention',
  waiting: 'Waiting',
  unlisted: 'Unlisted',
  hidden: 'Hidden',
  unused: 'Never used',
} as const
export type Chip = keyof typeof CHIPS

/** The orders of the list. */
export const ORDERS = {
  attention: 'Needs attention first',
  name: 'Name',
  tokens: 'Most tokens',
  used: 'Last used',
  changed: 'Last changed',
} as const
export type Order = keyof typeof ORDERS

export const GROUP_TITLES: Readonly<Record<Group, string>> = {
  attention: 'Needs attention',
  live: 'Live',
  unlisted: 'Unlisted: found by search',
  hidden: 'Hidden: only people invoke them',
  off: 'Not served',
}

/** A line of the list: a row, or the title of a group. */
export type ListItem = { readonly title: Group; readonly count: number } | { readonly row: SkillRow }

export function isInChip(row: SkillRow, chip: Chip): boolean {
  switch (chip) {
    case 'attention':
      return stateOf(row).group === 'attention'
    case 'waiting':
      return row.status === 'pending'
    case 'unlisted':
    case 'hidden':
      return row.visibility === chip
    case 'unused':
      return row.usage === null && row.serving !== null
    default:
      return chip satisfies never
  }
}

export function chosenOrder(): Order {
  const { sort } = route.value.query
  return sort !== undefined && Object.hasOwn(ORDERS, sort) ? (sort as Order) : 'attention'
}

export function chosenChip(): Chip | undefined {
  const { show } = route.value.query
  return show !== undefined && Object.hasOwn(CHIPS, show) ? (show as Chip) : undefined
}

/** Rows that match the filter, in the chosen order. */
const visibleRows = computed<readonly SkillRow[]>(() => {
  const words = (route.value.query['q'] ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const chip = chosenChip()
  const found = rows.value.filter(row => {
    if (chip !== undefined && !isInChip(row, chip)) return false
    const text = `${row.name} ${row.description} ${row.source}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
  return sortRows(found, chosenOrder())
})

function sortRows(found: readonly SkillRow[], order: Order): readonly SkillRow[] {
  const by = (rank: (row: SkillRow) => number): readonly SkillRow[] => {
    const ranks = new Map(found.map(row => [row, rank(row)]))
    return found.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
  }
  switch (order) {
    case 'attention':
      return by(row => GROUPS.indexOf(stateOf(row).group) * 10 + (URGENCY[row.status] ?? 2))
    case 'name':
      return found
    case 'tokens':
      return by(({ tokens }) => -(tokens?.body ?? 0))
    case 'used':
      return by(({ usage }) => -(usage === null ? 0 : Date.parse(usage.lastAt)))
    case 'changed': {
      const changed = timeline.value.flatMap(({ changes, problems }) => [...changes, ...problems])
      const last = new Map(changed.map(({ name }, index) => [name, index]).reverse() as [string, number][])
      return by(({ name }) => last.get(name) ?? Number.MAX_SAFE_INTEGER)
    }
    default:
      return order satisfies never
  }
}

const URGENCY: Readonly<Partial<Record<SkillRow['status'], number>>> = { broken: 0, pending: 1 }

/** The lines of the list. Only the order by attention has titles. */
export const listItems = computed<readonly ListItem[]>(() => {
  const found = visibleRows.value
  if (chosenOrder() !== 'attention') return found.map(row => ({ row }))
  return [...Map.groupBy(found, row => stateOf(row).group)].flatMap(([title, own]) => [
    { title, count: own.length },
    ...own.map(row => ({ row })),
  ])
})

/** Opens the next or the previous visible skill. */
export function openNext(step: 1 | -1): void {
  const { view, chosen, query } = route.value
  const shown = visibleRows.value
  // Without a choice, the first one is shown.
  const current = chosen === undefined ? shown[0] : findRow(chosen)
  const next = view === 'skills' && current !== undefined ? shown[shown.indexOf(current) + step] : shown[0]
  if (next === undefined) return
  if (view === 'skills') goQuietly(toHash({ view, chosen: next.target, query }))
  else go({ view: 'skills', chosen: next.target })
}
