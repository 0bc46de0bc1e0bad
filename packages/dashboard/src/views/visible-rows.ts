import { computed } from '@preact/signals'
import type { SkillRow } from 'skillstoke/client'
import type { Filters } from '../parts/chips.tsx'
import { chosenIn, go, goQuietly, route, toHash } from '../route.ts'
import { GROUPS, stateOf } from '../skill-state.ts'
import { findRow, rows, timeline } from '../store.ts'

/** What the list can be limited to. */
export const FILTERS: Filters<SkillRow> = {
  '': ['All', () => true],
  attention: ['Attention', row => stateOf(row).group === 'attention'],
  waiting: ['Waiting', ({ status }) => status === 'pending'],
  unlisted: ['Unlisted', ({ visibility }) => visibility === 'unlisted'],
  hidden: ['Hidden', ({ visibility }) => visibility === 'hidden'],
  unused: ['Unused', ({ usage, serving }) => usage === null && serving !== null],
}

/** The orders of the list, by the value of `sort` in the address. A lower rank comes first. */
export const ORDERS: Readonly<Record<string, readonly [words: string, rank: (row: SkillRow) => number]>> = {
  '': ['Needs attention first', row => GROUP_ORDER.indexOf(stateOf(row).group) * 10 + urgencyOf(row)],
  name: ['Name', () => 0],
  tokens: ['Most tokens', ({ tokens }) => -(tokens?.body ?? 0)],
  used: ['Last used', ({ usage }) => -(usage === null ? 0 : Date.parse(usage.lastAt))],
  changed: ['Last changed', ({ name }) => lastChanges.value.get(name) ?? Number.MAX_SAFE_INTEGER],
}

const GROUP_ORDER = Object.keys(GROUPS)

function urgencyOf({ status }: SkillRow): number {
  return { broken: 0, pending: 1 }[status as string] ?? 2
}

/** How many changes happened after the last one of each skill. */
const lastChanges = computed<ReadonlyMap<string, number>>(() => {
  const changed = timeline.value.flatMap(({ changes, problems }) => [...changes, ...problems])
  return new Map(changed.map(({ name }, index) => [name, index] as const).reverse())
})

/** Rows that match the filter, in the chosen order. */
const visibleRows = computed<readonly SkillRow[]>(() => {
  const words = (route.value.query['q'] ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const [, [, keeps]] = chosenIn(FILTERS, 'show')
  const [, [, rank]] = chosenIn(ORDERS, 'sort')
  return rows.value
    .filter(row => {
      const text = `${row.name} ${row.description} ${row.source}`.toLowerCase()
      return keeps(row) && words.every(word => text.includes(word))
    })
    .map(row => ({ row, rank: rank(row) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ row }) => row)
})

/** A line of the list: a row, or the title of a group. */
export type ListItem = { readonly title: string; readonly count: number } | { readonly row: SkillRow }

/** The lines of the list. Only the order by attention has titles. */
export const listItems = computed<readonly ListItem[]>(() => {
  const found = visibleRows.value
  if (chosenIn(ORDERS, 'sort')[0] !== '') return found.map(row => ({ row }))
  return [...Map.groupBy(found, row => stateOf(row).group)].flatMap(([group, own]) => [
    { title: GROUPS[group], count: own.length },
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
