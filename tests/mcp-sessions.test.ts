import { once } from 'node:events'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientOfV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportOfV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { type Serving, startServe } from './fixtures/serve.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const AT_ONCE = 25

/** A client of protocol 2025-11-25 that opens no stream. The server recognizes this client only by its session. */
class PlainClient {
  readonly #dev: DevProcess
  #session: string | undefined
  #calls = 0

  constructor(dev: DevProcess) {
    this.#dev = dev
  }

  /** Starts a session if the server accepts a new session. Returns the answer. */
  async begin(): Promise<Response> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }
    const response = await this.#send({ method: 'initialize', params })
    if (response.ok) this.#session = response.headers.get('mcp-session-id') ?? undefined
    return response
  }

  get isAdmitted(): boolean {
    return this.#session !== undefined
  }

  async call(): Promise<number> {
    const params = { name: 'skill', arguments: { name: 'refund' } }
    return (await this.#send({ method: 'tools/call', params })).status
  }

  async #send(message: Readonly<Record<string, unknown>>): Promise<Response> {
    const session = this.#session === undefined ? {} : { 'mcp-session-id': this.#session }
    const response = await fetch(this.#dev.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#dev.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#calls, ...message }),
    })
    await response.arrayBuffer()
    return response
  }
}

async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += AT_ONCE)
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  return results
}

describe('the MCP server with more clients than allowed sessions', () => {
  test('of 300 clients that call one after the other, 256 are served and the rest are asked to retry later', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using dev = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent'],
    })
    const clients = Array.from({ length: 300 }, () => new PlainClient(dev))
    const statuses: number[] = []
    for (let round = 0; round < 4; round++) {
      await inTurns(clients, async client => {
        if (client.isAdmitted) {
          statuses.push(await client.call())
          return
        }
        const answer = await client.begin()
        expect([200, 503]).toContain(answer.status)
        if (answer.status === 503) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      })
      expect(clients.filter(client => client.isAdmitted)).toHaveLength(256)
    }
    expect(statuses).toHaveLength(3 * 256)
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('the session limit comes from the command line, or from the configuration if the command line names no limit', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    folder.write('config.json', JSON.stringify({ roots: ['skills'], server: { maxSessions: 2 } }))
    const admittedBy = async (args: readonly string[]): Promise<number> => {
      const config = ['--no-agent', '--config', folder.at('config.json'), ...args]
      await using dev = await startDev({ state: folder.at('state'), args: config })
      const clients = Array.from({ length: 6 }, () => new PlainClient(dev))
      await inTurns(clients, client => client.begin())
      return clients.filter(client => client.isAdmitted).length
    }
    expect(await admittedBy([])).toBe(2)
    expect(await admittedBy(['--max-sessions', '4'])).toBe(4)
  })

  test('the sessions of SDK clients are kept, because these clients keep a stream open', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using dev = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent', '--max-sessions', '10'],
    })
    const connect = async (): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
      const requestInit = { headers: { authorization: `Bearer ${dev.token}` } }
      await client.connect(new StreamableHTTPClientTransport(dev.mcpUrl, { requestInit }))
      return client
    }
    const outcomes = await Promise.allSettled(Array.from({ length: 15 }, connect))
    const clients = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(clients).toHaveLength(10)
    for (let round = 0; round < 3; round++) {
      const answers = clients.map(client => client.callTool({ name: 'skill', arguments: { name: 'refund' } }))
      for (const { isError } of await Promise.all(answers)) expect(isError ?? false).toBe(false)
    }
    await Promise.all(clients.map(client => client.close()))
  })
})

interface AnyClient {
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

async function connectV1(
  url: string,
  token: string,
): Promise<{ client: ClientOfV1; updated: Promise<string> }> {
  const client = new ClientOfV1({ name: 'v1', version: '1' })
  const updated = new Promise<string>(resolve =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri)),
  )
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new TransportOfV1(new URL(`${url}/mcp`), { requestInit }))
  return { client, updated }
}

async function connectV2(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return client
}

const load = async (client: AnyClient): Promise<string> =>
  JSON.stringify(await client.callTool({ name: 'skill', arguments: { name: 'refund' } }))

async function end({ process }: Serving): Promise<void> {
  const exited = once(process, 'exit')
  process.kill('SIGTERM')
  await exited
}

describe('clients of 2025-11-25', () => {
  test('continue after a restart of the server, and hear once that their knowledge may be old', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Old.' })
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const first = await startServe([...roots, '--port', '0'])
    const port = new URL(first.url).port
    const token = /token +(\S+)/.exec(first.output())?.[1] ?? ''
    const { client, updated } = await connectV1(first.url, token)
    const clients: readonly AnyClient[] = [client, await connectV2(first.url, token)]
    for (const each of clients) expect(await load(each)).toContain('Old.')
    await end(first)
    folder.writeSkill('skills/refund', { body: 'New.' })
    await using second = await startServe([...roots, '--port', port])
    expect(second.url).toBe(first.url)
    for (const each of clients) {
      const answer = await load(each)
      expect(answer).toContain('New.')
      expect(answer).toContain('The connection was interrupted')
      expect(await load(each)).not.toContain('The connection was interrupted')
    }
    // The SDK opens its stream again by itself, and hears what changed while the server was away.
    expect(await updated).toContain('skill://refund')
    await Promise.all(clients.map(each => each.close()))
  })

  test('use replicas that share a key, each client only its own sessions', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const file = folder.at('clients.json')
    const [desk = '', other = ''] = ['desk', 'other'].map(name => {
      const { stdout } = stoke(['token', name, '--clients', file, '--json'])
      return (JSON.parse(stdout) as { token: string }).token
    })
    const start = async (state: string): Promise<Serving> =>
      await startServe(
        ['--root', folder.at('skills'), '--clients', file, '--state', folder.at(state), '--port', '0'],
        { SKILLSTOKE_SESSION_KEY: 'k'.repeat(32) },
      )
    await using one = await start('one')
    await using two = await start('two')
    const send = async (url: string, token: string, message: object, session = ''): Promise<Response> =>
      await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...(session === '' ? {} : { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      })
    const clientInfo = { name: 'x', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const began = await send(one.url, desk, { method: 'initialize', params })
    const session = began.headers.get('mcp-session-id') ?? ''
    await began.arrayBuffer()
    const list = { method: 'tools/list' }
    const statuses = [
      await send(two.url, desk, list, session),
      await send(two.url, other, list, session),
      await send(two.url, desk, list, `${session.startsWith('A') ? 'B' : 'A'}${session.slice(1)}`),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 404, 404])
  })
})
