import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { SkillEvents } from '../index.ts'
import { channelOf, type PublishedEvent } from './publish-events.ts'

/** What is counted, with the labels of each count. */
export const COUNTERS = {
  activations: 'Uses of skills: instructions or a file were read, or a script ran',
  changes: 'Changes of served skills',
  problems: 'New texts of skills that are broken, shadowed or wait for approval',
  reloads: 'Requested reloads of all sources',
  commands: 'Ended calls of commands and scripts',
  requests: 'Requests of MCP clients that used a skill',
  notifications: 'Notifications that MCP clients were sent',
} as const

export type CounterName = keyof typeof COUNTERS
export type Labels = Readonly<Record<string, string>>

/** One request of an MCP client, while it is answered. The fields after `name` may be set until it ends. */
export interface TracedRequest {
  readonly method: string
  readonly name: string
  readonly server: string
  readonly client?: string
  readonly traceparent?: string
  readonly skill?: string
  readonly revision?: string
  readonly isError?: boolean
  readonly error?: unknown
}

/** Receives counts and requests. */
export interface TelemetrySink {
  count(name: CounterName, labels: Labels): void
  /** Called when a command or a script has ended. */
  commandEnded(seconds: number, labels: Labels): void
  requestStarted?(request: TracedRequest): void
  /** Called once for each request, also if it failed. */
  requestEnded(request: TracedRequest, seconds: number): void
  /** Called for each use of a skill. `request` is the request of an MCP client that caused the use. */
  used?(use: SkillEvents['skill:used'], request: TracedRequest | undefined): void
  /** Called before each model call of a conversation. */
  offered?(call: SkillEvents['skills:offered']): void
}

const REQUESTS = 'tracing:skillstoke:mcp.request'
const NOTIFICATIONS = 'skillstoke:mcp.notification'

/** Subscribes a sink to the diagnostics channels of Skillstoke. Returns a function that stops. */
export function followTelemetry(sink: TelemetrySink): () => void {
  const started = new WeakMap<object, number>()
  const current = new AsyncLocalStorage<TracedRequest>()
  const listeners: (readonly [string, (message: unknown) => void])[] = []
  const on = (name: string, listener: (message: never) => void): void => {
    listeners.push([name, listener as (message: unknown) => void])
  }
  const onEvent = <Name extends PublishedEvent>(
    event: Name,
    listener: (payload: SkillEvents[Name]) => void,
  ): void => on(channelOf(event), listener)

  onEvent('skill:used', use => {
    sink.count('activations', { skill: use.skill, by: use.by, tool: use.tool ?? '' })
    sink.used?.(use, current.getStore())
  })
  onEvent('skills:offered', call => sink.offered?.(call))
  for (const kind of ['added', 'modified', 'removed'] as const)
    onEvent(`skill:${kind}`, () => sink.count('changes', { kind }))
  for (const kind of ['error', 'shadowed', 'pending'] as const)
    onEvent(`skill:${kind}`, () => sink.count('problems', { kind }))
  onEvent('skills:reloaded', ({ errors }) =>
    sink.count('reloads', { outcome: errors.length === 0 ? 'ok' : 'failed' }),
  )
  onEvent('command:finished', ({ skill, isError, durationMs }) => {
    const labels = { skill, outcome: isError ? 'failed' : 'ok' }
    sink.count('commands', labels)
    sink.commandEnded(durationMs / 1_000, labels)
  })
  on(`${REQUESTS}:start`, (request: TracedRequest) => {
    started.set(request, performance.now())
    sink.requestStarted?.(request)
  })
  on(`${REQUESTS}:asyncEnd`, (request: TracedRequest) => {
    const start = started.get(request)
    if (start === undefined) return
    started.delete(request)
    sink.count('requests', { method: request.method, outcome: outcomeOf(request) })
    sink.requestEnded(request, (performance.now() - start) / 1_000)
  })
  on(NOTIFICATIONS, ({ method }: { readonly method: string }) => sink.count('notifications', { method }))
  for (const [name, listener] of listeners) subscribe(name, listener)
  const start = channel(`${REQUESTS}:start`)
  start.bindStore(current)
  return () => {
    start.unbindStore(current)
    for (const [name, listener] of listeners) unsubscribe(name, listener)
  }
}

/** Returns `ok`, `failed` for an answer that is an error for the model, or `error` for a request that threw. */
export function outcomeOf({ error, isError }: TracedRequest): 'ok' | 'failed' | 'error' {
  if (error !== undefined) return 'error'
  return isError === true ? 'failed' : 'ok'
}
