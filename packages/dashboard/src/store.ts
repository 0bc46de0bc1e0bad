import { batch, computed, signal } from '@preact/signals'
import {
  type AttentionInfo,
  type ClientInfo,
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
/** MCP clients without a conversation. */
export const clients = signal<readonly ClientInfo[]>([])
/** Timeline entries, newest first. */
export const timeline = signal<readonly TimelineEntry[]>([])
export const attention = signal<AttentionInfo>({ collisions: [], failing: [] })
const rowsByPlace = signal<ReadonlyMap<string, SkillRow>>(new Map())

/** Number of times that the commands of each skill changed since the page was opened. */
export const commandChanges = signal<ReadonlyMap<string, number>>(new Map())

export type Connection = 'connecting' | 'live' | 'lost' | 'refused'
export const connection = signal<Connection>('connecting')
/** When the connection was lost. */
export const lostAt = signal<Date | undefined>(undefined)

const MAX_TIMELINE = 200

/** Rows, sorted by name and then by precedence. */
export const rows = computed<readonly SkillRow[]>(() =>
  [...rowsByPlace.value.values()].sort((a, b) => compare(a.name, b.name) || precedence(a) - precedence(b)),
)

/** Finds the row of a skill by its target, or by its name. Of several folders with one name, returns the served one. */
export function findRow(chosen: string): SkillRow | undefined {
  const named = rows.value.filter(({ name }) => name === chosen)
  return (
    rows.value.find(({ target }) => target === chosen) ??
    named.find(({ serving }) => serving !== null) ??
    named[0]
  )
}

/** Whether the folder of a row belongs to the person who started the server. */
export function isOwn({ source }: Pick<SkillRow, 'source'>): boolean {
  const found = status.value?.sources.find(({ label }) => label === source)
  return found !== undefined && found.trust !== 'review' && isFolder(found)
}

/** Whether one of the sources is a folder, in which a skill can be created. */
export function hasFolder(): boolean {
  return status.value?.sources.some(isFolder) === true
}

/** Whether the origin of a source is a path. Other origins begin with the name of a protocol. */
function isFolder({ origin }: { readonly origin: string }): boolean {
  return !/^[a-z][\w+.-]+:/i.test(origin)
}

/** Returns the folder of a skill as the person wrote its root, for example `skills/refund`. */
export function placeOf({ source, location }: Pick<SkillRow, 'source' | 'location'>): string {
  const { origin = '', path = '' } = status.value?.sources.find(({ label }) => label === source) ?? {}
  if (origin !== '' && location.startsWith(`${origin}/`)) return `${path}${location.slice(origin.length)}`
  return location === source ? location : `${location} in ${source}`
}

/** Applies one event to the state. */
export function apply(event: ServerEvent): void {
  batch(() => {
    switch (event.kind) {
      case 'state':
        status.value = event.status
        sessions.value = event.sessions
        clients.value = event.clients
        attention.value = event.attention
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
        clients.value = event.clients
        break
      case 'attention':
        attention.value = event.attention
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
