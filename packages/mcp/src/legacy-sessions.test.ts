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

test('if a server cannot be created, the attempt does not count as a session', async () => {
  const failure = new Error('no server')
  let fails = true
  const sessions = new LegacySessions({
    createServer: () => {
      if (fails) throw failure
      return new McpServer({ name: 'x', version: '1' })
    },
    clock: systemClock,
    maxSessions: 1,
    graceMs: 60_000,
    idleMs: 60_000,
    maxRequestBytes: 100_000,
  })
  await expect(sessions.handle(initialize())).rejects.toBe(failure)
  fails = false
  const response = await sessions.handle(initialize())
  expect(response.status).toBe(200)
  await response.text()
  await sessions.close()
})
