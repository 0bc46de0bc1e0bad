import { McpServer } from '@modelcontextprotocol/server'
import { systemClock } from '@skillstoke/core/source'
import { expect, test } from 'vitest'
import { type IncomingRequest, readIncoming } from './incoming-request.ts'
import { LegacySessions, type SessionServer } from './legacy-sessions.ts'

const clientInfo = { name: 'x', version: '1' }
const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo },
}

async function send(message: object, session?: string | null): Promise<IncomingRequest> {
  const request = new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(session === undefined || session === null ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  return (await readIncoming(request, 100_000)) as IncomingRequest
}

function open({ maxSessions = 1, secret = 'secret' } = {}): LegacySessions {
  const options = { clock: systemClock, maxSessions, sessionIdleMs: 60_000, sessionKey: secret }
  return new LegacySessions(options, () => 'sha256:1')
}

const servers: McpServer[] = []
const createServer = (): SessionServer => {
  const server = new McpServer({ name: 'x', version: '1' })
  servers.push(server)
  return { server, setListening: () => undefined }
}

const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const response = await answer
  await response.text()
  return response.status
}

async function begin(sessions: LegacySessions, owner: string): Promise<string> {
  const began = await sessions.handle(await send(initialize), { owner, createServer })
  await began.text()
  return began.headers.get('mcp-session-id') ?? ''
}

test('if a server cannot be created, the attempt does not count as a session', async () => {
  const failure = new Error('no server')
  let fails = true
  const sessions = open()
  const caller = {
    owner: 'a',
    createServer: () => {
      if (fails) throw failure
      return createServer()
    },
  }
  await expect(sessions.handle(await send(initialize), caller)).rejects.toBe(failure)
  fails = false
  expect(await statusOf(sessions.handle(await send(initialize), caller))).toBe(200)
  await sessions.close()
})

test('a session exists only for the client that began it', async () => {
  const sessions = open()
  const id = await begin(sessions, 'a')
  const ping = await send({ method: 'ping' }, id)
  expect(await statusOf(sessions.handle(ping, { owner: 'a', createServer }))).toBe(200)
  expect(await statusOf(sessions.handle(ping, { owner: 'b', createServer }))).toBe(404)
  await sessions.close()
})

test('a server with the same key continues a session for its owner, with the client and its version', async () => {
  const first = open()
  const id = await begin(first, 'a')
  await first.close()
  const second = open()
  const ping = await send({ method: 'ping' }, id)
  expect(await statusOf(second.handle(ping, { owner: 'b', createServer }))).toBe(404)
  // Both requests need the session, which is continued only once.
  const pings = [ping, await send({ id: 2, method: 'ping' }, id)]
  const caller = { owner: 'a', createServer }
  expect(await Promise.all(pings.map(each => statusOf(second.handle(each, caller))))).toEqual([200, 200])
  expect(servers.at(-1)?.server.getClientVersion()).toEqual(clientInfo)
  expect(servers.at(-1)?.server.getClientCapabilities()).toEqual({ roots: {} })
  expect(servers.at(-1)?.server.getNegotiatedProtocolVersion()).toBe('2025-11-25')
  await second.close()
  const stranger = open({ secret: 'another' })
  expect(await statusOf(stranger.handle(ping, caller))).toBe(404)
  await stranger.close()
})

test('an id contains no readable information and fits into a header, whatever the client says about itself', async () => {
  const sessions = open()
  const capabilities = { experimental: Object.fromEntries([...Array(9_000).keys()].map(key => [key, {}])) }
  const params = {
    ...initialize.params,
    capabilities,
    clientInfo: { ...clientInfo, name: 'n'.repeat(9_000) },
  }
  const began = await sessions.handle(await send({ ...initialize, params }), { owner: 'a', createServer })
  await began.text()
  const id = began.headers.get('mcp-session-id') ?? ''
  expect(id).toMatch(/^[\w.-]{40,2000}$/)
  expect(Buffer.from(id, 'base64url').includes('nnn')).toBe(false)
  await sessions.close()
})

test('a second request with the id of a running request is refused, and the first one is answered', async () => {
  const sessions = open()
  const caller = { owner: 'a', createServer }
  const id = await begin(sessions, 'a')
  const first = await sessions.handle(await send({ id: 7, method: 'ping' }, id), caller)
  const second = await sessions.handle(await send({ id: 7, method: 'ping' }, id), caller)
  expect(second.status).toBe(400)
  expect(await second.text()).toContain('a request with the id 7 is running')
  expect(await first.text()).toContain('"id":7')
  expect(await statusOf(sessions.handle(await send({ id: 7, method: 'ping' }, id), caller))).toBe(200)
  await sessions.close()
})
