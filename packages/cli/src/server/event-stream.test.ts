import { describe, expect, test } from 'vitest'
import type { ServerEvent, StateEvent } from '../client/api-types.ts'
import { EventLog, type EventLogOptions } from './event-log.ts'
import { streamEvents } from './event-stream.ts'

const sessions = (text = ''): ServerEvent => ({
  kind: 'sessions',
  sessions: [{ id: text } as never],
  clients: [],
})

function open(log: EventLog, lastEventId?: string): { next: () => Promise<string>; end: AbortController } {
  const end = new AbortController()
  const stream = streamEvents({
    log,
    startId: 'abc',
    lastEventId,
    createState: () => ({ kind: 'state' }) as StateEvent,
    keepAliveMs: 5,
    signal: end.signal,
  })
  return { next: async () => (await stream.next()).value ?? 'end', end }
}

const small: EventLogOptions = { maxEvents: 3, maxLength: 10_000 }

describe('streamEvents()', () => {
  test('sends the present state with its event number, and then every later event', async () => {
    const log = new EventLog()
    log.append(sessions('before'))
    const { next, end } = open(log)
    expect(await next()).toBe('id: abc-1\ndata: {"kind":"state"}\n\n')
    log.append(sessions('after'))
    expect(await next()).toBe(
      'id: abc-2\ndata: {"kind":"sessions","sessions":[{"id":"after"}],"clients":[]}\n\n',
    )
    end.abort()
    expect(await next()).toBe('end')
  })

  test('continues after the last event id, or begins with the present state if that id is unknown', async () => {
    const log = new EventLog(small)
    for (let number = 1; number <= 5; number++) log.append(sessions(String(number)))
    expect(await open(log, 'abc-3').next()).toContain('id: abc-4\n')
    expect(await open(log, 'abc-2').next()).toContain('id: abc-3\n')
    for (const id of ['abc-1', 'abc-0', 'abc-6', 'other-4', 'abc-', 'abc-4x', ''])
      expect(await open(log, id).next(), id).toContain('"kind":"state"')
  })

  test('a reader that has missed dropped events gets the present state exactly once', async () => {
    const log = new EventLog(small)
    const { next } = open(log)
    await next()
    for (let number = 1; number <= 10; number++) log.append(sessions(String(number)))
    expect(await next()).toContain('id: abc-10\ndata: {"kind":"state"}')
    log.append(sessions('11'))
    expect(await next()).toContain('id: abc-11\n')
  })

  test('sends keep-alive comments that have no event number', async () => {
    const { next } = open(new EventLog())
    await next()
    expect(await next()).toBe(': still here\n\n')
  })
})

describe('EventLog', () => {
  test('never keeps more text than its limit allows, and drops even its only event if that event is too large', () => {
    const log = new EventLog({ maxEvents: 100, maxLength: 1_000 })
    log.append(sessions('x'.repeat(400)))
    log.append(sessions('x'.repeat(400)))
    expect(log.after(0)).toMatchObject({ number: 1 })
    log.append(sessions('x'.repeat(400)))
    expect(log.after(0)).toBe('lost')
    expect(log.after(1)).toMatchObject({ number: 2 })
    log.append(sessions('x'.repeat(2_000)))
    expect(log.after(3)).toBe('lost')
    expect(log.after(4)).toBeUndefined()
    expect(log.last).toBe(4)
  })
})
