import { computed } from '@preact/signals'
import type { SessionInfo } from 'skillstoke/client'
import { clients, sessions, status } from './store.ts'

/** One agent or client, with its conversations. */
export interface ClientGroup {
  readonly key: string
  readonly name: string
  /** Version of the client, or the model of our own agent. */
  readonly version: string
  readonly sessions: readonly SessionInfo[]
  /** Names of the skills that were loaded. */
  readonly loaded: readonly string[]
  /** When it was seen last. Absent until then. */
  readonly lastAt: string | undefined
}

/** The agents and clients that follow the skills, in the order of their first conversation. */
export const groups = computed<readonly ClientGroup[]>(() => {
  const held = Map.groupBy(sessions.value, toKey)
  const withSessions = [...held].map(([key, own]): ClientGroup => {
    const loaded = own.flatMap(each => each.loaded.map(({ name }) => name))
    const lastAt = own.map(lastSeenAt).filter(at => at !== undefined)
    return {
      key,
      ...describe(own[0]),
      sessions: own,
      loaded: [...new Set(loaded)],
      lastAt: lastAt.sort().at(-1),
    }
  })
  const others = clients.value.map(({ name, version, loaded, lastAt }) => ({
    ...{ key: `${name} ${version}`, name, version, loaded, lastAt },
    sessions: [],
  }))
  return [...withSessions, ...others]
})

/** Explains a word of the lines about conversations. */
export const STEP = 'The next step is the next request to the model.'

/** When a conversation was continued last. */
export function lastSeenAt({ client, turns }: SessionInfo): string | undefined {
  return client?.lastAt ?? turns.at(-1)?.at
}

/** Returns the first question of a conversation, or its id. */
export function titleOf({ turns, id }: SessionInfo): string {
  return turns[0]?.question ?? id
}

/** Numbers of conversations by what they know. */
export function countPending(own: readonly SessionInfo[]): number {
  return own.filter(({ pending }) => pending !== null).length
}

function toKey({ kind, client }: SessionInfo): string {
  return kind === 'mcp' ? `mcp ${client?.name} ${client?.version}` : kind
}

function describe(session: SessionInfo | undefined): Pick<ClientGroup, 'name' | 'version'> {
  const used = status.value?.model ?? ''
  const model = used === 'offline' ? 'offline model, which asks no provider' : `model ${used}`
  if (session?.kind === 'dev') return { name: 'Demo agent', version: model }
  if (session?.kind === 'page') return { name: 'This page', version: model }
  const { name = 'A client without a name', version = '' } = session?.client ?? {}
  return { name, version }
}

/** Names the skills of which conversations will hear. */
export function listPending(own: readonly SessionInfo[]): string {
  return listNames([...new Set(own.flatMap(({ pending }) => pending?.about ?? []))])
}

/** Lists names in a sentence: `a, b and 3 more`. */
export function listNames(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most)
  const rest = names.length - shown.length
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}
