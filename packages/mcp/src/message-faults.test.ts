import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { type Harness, open, text } from '../../../tests/fixtures/mcp-harness.ts'

const LONG = 'y'.repeat(200_000)
const FILES = { 'pdf/SKILL.md': text('pdf') }
const VERSION = 'io.modelcontextprotocol/protocolVersion'

async function post(it: Harness, body: unknown, headers: Readonly<Record<string, string>>): Promise<string> {
  const answer = await it.mcp.fetch(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    }),
  )
  return await answer.text()
}

const REQUESTS: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ['tools/call', { name: LONG, arguments: {} }],
  ['prompts/get', { name: LONG }],
  ['resources/read', { uri: `skill://${LONG}` }],
  ['resources/read', { uri: `shop://${LONG}` }],
  ['resources/list', { cursor: LONG }],
  ['resources/directory/read', { uri: `skill://${LONG}` }],
  ['resources/directory/read', { uri: 'skill://pdf', cursor: LONG }],
  ['skills/get', { uri: `skill://${LONG}` }],
  ['skills/list', { cursor: LONG }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: LONG }, argument: { name: 'a', value: '' } }],
]

describe('an error never repeats a long value', () => {
  test.each(REQUESTS)('of %s in 2025-11-25', async (method, params) => {
    await using it = await open(FILES)
    const began = await it.request(
      {},
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'raw', version: '1' },
        },
      },
    )
    const session = { 'mcp-session-id': began.headers.get('mcp-session-id') ?? '' }
    const answer = await post(it, { jsonrpc: '2.0', id: 2, method, params }, session)
    expect(answer).toContain('"error"')
    expect(answer.length).toBeLessThan(2_000)
  })

  test.each<readonly [string, string, Readonly<Record<string, unknown>>]>([
    ...REQUESTS.map(([method, params]) => [method, method, params] as const),
    ['a long method', LONG, {}],
    ['a long version', 'tools/list', { _meta: { [VERSION]: LONG } }],
  ])('of %s in 2026-07-28', async (_title, method, params) => {
    await using it = await open(FILES)
    const _meta = {
      [VERSION]: '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
      ...(params['_meta'] as object | undefined),
    }
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method.slice(0, 30),
      'mcp-name': 'pdf',
    }
    const answer = await post(it, { jsonrpc: '2.0', id: 2, method, params: { ...params, _meta } }, headers)
    expect(answer).toContain('"error"')
    expect(answer.length).toBeLessThan(2_000)
  })

  test('of ids', async () => {
    await using it = await open(FILES)
    const ping = { jsonrpc: '2.0', method: 'ping' }
    const answer = await post(it, { ...ping, id: LONG }, {})
    expect(answer).toContain('the id has 200000 characters; at most 4096 are allowed')
    const id = 'y'.repeat(4_000)
    expect(
      (
        await post(
          it,
          [
            { ...ping, id },
            { ...ping, id },
          ],
          {},
        )
      ).length,
    ).toBeLessThan(1_000)
  })

  test('over the transport of a host', async () => {
    await using it = await open(FILES)
    const mcp = new McpServer({ name: 'shop', version: '1.0.0' })
    it.mcp.attach(mcp)
    const [client, server] = InMemoryTransport.createLinkedPair()
    await mcp.connect(server)
    await client.start()
    for (const method of ['skills/get', 'resources/directory/read']) {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport is not an event target
      const answer = new Promise(resolve => (client.onmessage = resolve))
      await client.send({ jsonrpc: '2.0', id: 1, method, params: { uri: `skill://${LONG}` } })
      expect(JSON.stringify(await answer)).toContain('the URI has 200008 characters')
    }
    await client.close()
  })
})
