import { batch, computed, signal } from '@preact/signals'
import {
  keyOfRow,
  type ServerEvent,
  type ServerStatus,
  type SessionInfo,
  type SkillRow,
  type TimelineEntry,
} from 'skillstoke/client'

/** The state that the server sent. The whole page shows only data from these signals. */
export const status = signal<ServerStatus | undefined>(undefined)
export const sessions = signal<readonly SessionInfo[]>([])
/** Timeline entries, newest first. */
export const timeline = signal<readonly TimelineEntry[]>([])
const rowsByPlace = signal<ReadonlyMap<string, SkillRow>>(new Map())

/** Number of times that the commands of each skill changed since the page was opened. */
export const commandChanges = signal<ReadonlyMap<string, number>>(new Map())

export type Connection = 'connecting' | 'live' | 'lost' | 'refused'
export const connection = signal<Connection>('connecting')

export const filter = signal('')
/** Key of the selected row. */
export const selectedPlace = signal<string | undefined>(undefined)

export const isHelpOpen = signal(false)

export const DETAIL_TABS = [
  'instructions',
  'source',
  'files',
  'try',
  'run',
  'difference',
  'history',
  'why',
] as const
export type DetailTab = (typeof DETAIL_TABS)[number]
/**
 * The tab that the user chose. If the user chose none, a broken skill shows the tab with its source, and any other
 * skill shows its instructions.
 */
export const detailTab = signal<DetailTab | undefined>(undefined)

const MAX_TIMELINE = 200

/**
 * Rows in the order of the list: first broken skills, then pending skills, then all others. Each group is sorted by
 * name and then by precedence.
 */
export const rows = computed<readonly SkillRow[]>(() => {
  const all = [...rowsByPlace.value.values()]
  const order = (row: SkillRow): number => (row.status === 'broken' ? 0 : row.status === 'pending' ? 1 : 2)
  return all.sort((a, b) => order(a) - order(b) || compare(a.name, b.name) || precedence(a) - precedence(b))
})

export const visibleRows = computed<readonly SkillRow[]>(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return rows.value
  return rows.value.filter(row => {
    const text = `${row.name} ${row.description} ${row.status} ${row.source}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
})

export const selectedRow = computed<SkillRow | undefined>(() =>
  selectedPlace.value === undefined ? undefined : rowsByPlace.value.get(selectedPlace.value),
)

/** Applies one event to the state. */
export function apply(event: ServerEvent): void {
  batch(() => {
    switch (event.kind) {
      case 'state':
        status.value = event.status
        sessions.value = event.sessions
        timeline.value = event.timeline.toReversed()
        rowsByPlace.value = new Map(event.skills.map(row => [keyOfRow(row), row]))
        break
      case 'update':
        status.value = event.status
        timeline.value = [event.entry, ...timeline.value].slice(0, MAX_TIMELINE)
        changeRows(event.skills, event.gone)
        break
      case 'rows':
        changeRows(event.skills, [])
        break
      case 'sessions':
        sessions.value = event.sessions
        break
      case 'commands': {
        const { skill } = event
        const count = commandChanges.value.get(skill) ?? 0
        commandChanges.value = new Map(commandChanges.value).set(skill, count + 1)
        break
      }
      default:
        event satisfies never
    }
  })
}

function changeRows(
  changed: readonly SkillRow[],
  gone: readonly { readonly source: string; readonly location: string }[],
): void {
  const next = new Map(rowsByPlace.value)
  for (const place of gone) next.delete(keyOfRow(place))
  for (const row of changed) next.set(keyOfRow(row), row)
  rowsByPlace.value = next
}

function precedence(row: SkillRow): number {
  const index = status.value?.sources.findIndex(source => source.label === row.source) ?? -1
  return index < 0 ? Number.MAX_SAFE_INTEGER : index
}

/** Compares texts by code units, so that the order is the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
