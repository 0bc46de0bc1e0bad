import { McpServer } from '@modelcontextprotocol/server'
import { systemClock } from '@skillstoke/core/source'
import { expect, test } from 'vitest'
import { LegacySessions } from './legacy-sessions.ts'

function initialize(): Request {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
}

function open(maxSessions = 1): LegacySessions {
  const limits = { maxSessions, graceMs: 60_000, idleMs: 60_000, maxRequestBytes: 100_000 }
  return new LegacySessions({ clock: systemClock, ...limits })
}

test('if a server cannot be created, the attempt does not count as a session', async () => {
  const failure = new Error('no server')
  let fails = true
  const sessions = open()
  const caller = {
    owner: 'a',
    createServer: () => {
      if (fails) throw failure
      return new McpServer({ name: 'x', version: '1' })
    },
  }
  await expect(sessions.handle(initialize(), caller)).rejects.toBe(failure)
  fails = false
  const response = await sessions.handle(initialize(), caller)
  expect(response.status).toBe(200)
  await response.text()
  await sessions.close()
})

test('a session exists only for the client that began it', async () => {
  const sessions = open()
  const createServer = (): McpServer => new McpServer({ name: 'x', version: '1' })
  const began = await sessions.handle(initialize(), { owner: 'a', createServer })
  await began.text()
  const ping = (): Request => {
    const headers = new Headers(initialize().headers)
    headers.set('mcp-session-id', began.headers.get('mcp-session-id') ?? '')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })
    return new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body })
  }
  const own = await sessions.handle(ping(), { owner: 'a', createServer })
  await own.text()
  expect(own.status).toBe(200)
  expect((await sessions.handle(ping(), { owner: 'b', createServer })).status).toBe(404)
  await sessions.close()
})
