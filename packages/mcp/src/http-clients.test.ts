import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Harness, listen, open, text } from '../../../tests/fixtures/mcp-harness.ts'

const URL_OF_SERVER = 'http://127.0.0.1/mcp'
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const modern = (method: string, params: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})
const MODERN_HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }

async function post(
  it: Harness,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return await it.mcp.fetch(
    new Request(URL_OF_SERVER, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    }),
  )
}

const FILES = { 'pdf/SKILL.md': text('pdf') }
const JSON_TYPE = 'application/json'
const STREAM_TYPE = 'text/event-stream'

describe.each([
  ['2025-11-25', initialize, {}],
  ['2026-07-28', modern('tools/list'), MODERN_HEADERS],
] as const)('SkillMcp answers a client of %s', (_era, message, headers) => {
  test.each([
    [undefined, undefined],
    ['*/*', undefined],
    ['application/*, text/*;q=0.5', undefined],
    ['Application/JSON, Text/Event-Stream', undefined],
    ['application/json', JSON_TYPE],
    ['text/event-stream', STREAM_TYPE],
  ])('that accepts %j', async (accept, type) => {
    await using it = await open(FILES)
    const answer = await post(it, JSON.stringify(message), {
      ...headers,
      ...(accept === undefined ? {} : { accept }),
    })
    expect(answer.status).toBe(200)
    const received = answer.headers.get('content-type') ?? ''
    if (type !== undefined) expect(received).toMatch(type)
    const body = await answer.text()
    const json = received.startsWith(JSON_TYPE) ? body : (/^data: (.*)$/m.exec(body)?.[1] ?? '')
    expect(JSON.parse(json)).toMatchObject({ id: 1, result: {} })
  })

  test('that compresses its requests, up to the size limit of the decompressed request', async () => {
    await using it = await open(FILES, { maxRequestBytes: 2_000 })
    const packed = (value: unknown): Uint8Array<ArrayBuffer> =>
      new Uint8Array(gzipSync(JSON.stringify(value)))
    const gzip = { ...headers, 'content-encoding': 'gzip' }
    expect((await post(it, packed(message), gzip)).status).toBe(200)
    const oldName = { ...headers, 'content-encoding': 'X-GZIP' }
    expect((await post(it, packed(message), oldName)).status).toBe(200)
    expect((await post(it, packed({ ...message, pad: 'x'.repeat(9_000) }), gzip)).status).toBe(413)
    const unknown = await post(it, packed(message), { ...headers, 'content-encoding': 'br' })
    expect([unknown.status, unknown.headers.get('accept-encoding')]).toEqual([415, 'gzip, deflate'])
  })

  test('with 406 if it accepts neither JSON nor a stream', async () => {
    await using it = await open(FILES)
    const answer = await post(it, JSON.stringify(message), { ...headers, accept: 'text/html' })
    expect(answer.status).toBe(406)
    expect(await answer.text()).toContain('use \\"application/json, text/event-stream\\"')
  })

  test('with an error if an id is null or used twice', async () => {
    await using it = await open(FILES)
    const send = async (body: unknown): Promise<[number, string]> => {
      const answer = await post(it, JSON.stringify(body), headers)
      return [answer.status, await answer.text()]
    }
    expect(await send({ ...message, id: null })).toEqual([
      400,
      expect.stringContaining('is null; use a string'),
    ])
    expect(await send([message, message])).toEqual([400, expect.stringContaining('have the id 1')])
  })
})

test.each([
  [undefined, 200],
  ['*/*', 200],
  ['Text/Event-Stream', 200],
  ['text/event-stream;q=0', 406],
  ['application/json', 406],
])('the stream of a session answers a client that accepts %j with %d', async (accept, status) => {
  await using it = await open(FILES)
  const began = await it.request({}, initialize)
  const headers = {
    'mcp-session-id': began.headers.get('mcp-session-id') ?? '',
    ...(accept === undefined ? {} : { accept }),
  }
  const answer = await it.mcp.fetch(new Request(URL_OF_SERVER, { headers }))
  expect(answer.status).toBe(status)
  await answer.body?.cancel()
})

test('a client that accepts only JSON cannot listen, because that answer never ends', async () => {
  await using it = await open(FILES)
  const listen = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } })
  const headers = { ...MODERN_HEADERS, 'mcp-method': 'subscriptions/listen', accept: JSON_TYPE }
  expect((await post(it, JSON.stringify(listen), headers)).status).toBe(406)
})

test('a stateless server gives a client of 2025-11-25 no session', async () => {
  await using it = await open(FILES, { stateless: true })
  const began = await post(it, JSON.stringify(initialize), {})
  expect([began.status, began.headers.get('mcp-session-id')]).toEqual([200, null])
  const list = await post(it, JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }), {})
  expect(await list.text()).toContain('read_skill_file')
  expect(it.skills.sessions()).toEqual([])
})

test('SkillMcp refuses a short session key', async () => {
  await expect(open(FILES, { sessionKey: 'short' })).rejects.toThrow('sessionKey has 5 characters')
})

test('requests for documents of an authorization server get 404 if there is none', async () => {
  await using it = await open(FILES)
  for (const name of ['oauth-protected-resource', 'oauth-authorization-server/mcp'])
    expect((await it.mcp.fetch(new Request(`http://127.0.0.1/.well-known/${name}`))).status).toBe(404)
})

describe('a stream that opens after a gap says what has changed in it', () => {
  const authorization = 'Bearer of-desk'
  const uri = 'skill://pdf/SKILL.md'
  const change = async (it: Harness): Promise<void> => {
    await it.write('pdf/SKILL.md', text('pdf', 'New.'))
    await it.clock.advance(1_000)
    await it.remove('maps')
    await it.clock.advance(1_000)
  }
  const files = { ...FILES, 'maps/SKILL.md': text('maps') }

  test('for a client of 2026-07-28 with a token', async () => {
    await using it = await open(files)
    const client = await it.connect('2026-07-28', { authorization })
    const { notices, count } = listen(client)
    const filter = { resourcesListChanged: true, resourceSubscriptions: [uri] }
    await (await client.listen(filter)).close()
    await change(it)
    expect(notices).toEqual([])
    const again = await client.listen(filter)
    await count(2)
    expect(notices.splice(0)).toEqual(['list', uri])
    await again.close()
    await client.listen(filter)
    await it.write('pdf/SKILL.md', text('pdf', 'Newer.'))
    await count(1)
    expect(notices).toEqual([uri])
  })

  test('that everything may have changed, if the client of 2026-07-28 began with another server', async () => {
    const gone = 'skill://gone/SKILL.md'
    const filter = {
      resourcesListChanged: true,
      promptsListChanged: true,
      toolsListChanged: true,
      resourceSubscriptions: [uri, gone],
    }
    const headers = {
      ...MODERN_HEADERS,
      'mcp-method': 'subscriptions/listen',
      authorization,
      accept: STREAM_TYPE,
    }
    const body = JSON.stringify(modern('subscriptions/listen', { notifications: filter }))
    for (const served of [FILES, {}]) {
      await using it = await open(served)
      const answer = await post(it, body, headers)
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
      let told = ''
      while (!told.includes(`"uri":"${gone}"`))
        told += new TextDecoder().decode((await reader.read()).value ?? new Uint8Array())
      expect(told.match(/notifications\/\w+\/\w+/g)).toEqual([
        'notifications/subscriptions/acknowledged',
        'notifications/resources/list_changed',
        'notifications/prompts/list_changed',
        'notifications/tools/list_changed',
        'notifications/resources/updated',
        'notifications/resources/updated',
      ])
      await reader.cancel()
    }
  })

  test('that everything may have changed, if a session of 2025-11-25 continues without the skills it knew', async () => {
    const sessionKey = 'k'.repeat(32)
    await using before = await open(FILES, { sessionKey })
    const began = await before.request({}, initialize)
    await using it = await open({}, { sessionKey })
    const headers = { 'mcp-session-id': began.headers.get('mcp-session-id') ?? '', accept: STREAM_TYPE }
    const answer = await it.mcp.fetch(new Request(URL_OF_SERVER, { headers }))
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    let told = ''
    while (!told.includes('tools/list_changed'))
      told += new TextDecoder().decode((await reader.read()).value ?? new Uint8Array())
    expect(told).toContain('resources/list_changed')
    expect(told).toContain('prompts/list_changed')
    await reader.cancel()
  })

  test('since the first request of a client of 2026-07-28 with a token', async () => {
    await using it = await open(files)
    const client = await it.connect('2026-07-28', { authorization })
    const { notices, count } = listen(client)
    await change(it)
    await client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] })
    await count(2)
    expect(notices).toEqual(['list', uri])
  })

  test('for a session of 2025-11-25', async () => {
    await using it = await open(files)
    const began = await it.request({ authorization }, initialize)
    const headers = {
      authorization,
      'mcp-session-id': began.headers.get('mcp-session-id') ?? '',
      accept: STREAM_TYPE,
    }
    const stream = async (): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
      const { body } = await it.mcp.fetch(new Request(URL_OF_SERVER, { headers }))
      return (body as ReadableStream<Uint8Array>).getReader()
    }
    const subscribe = { jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri } }
    await it.request(headers, subscribe)
    await (await stream()).cancel()
    await change(it)
    const reader = await stream()
    let told = ''
    while (!told.includes('resources/updated'))
      told += new TextDecoder().decode((await reader.read()).value ?? new Uint8Array())
    expect(told.match(/"method":"[^"]*"/g)).toEqual([
      '"method":"notifications/resources/list_changed"',
      '"method":"notifications/prompts/list_changed"',
      '"method":"notifications/resources/updated"',
    ])
    await reader.cancel()
  })
})
