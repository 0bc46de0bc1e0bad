import type { ToolDefinition } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { type SkillCall, SkillServer } from './server.ts'

const TOOL: ToolDefinition = {
  name: 'skill',
  description: 'Loads.',
  inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  execute: () => Promise.reject(new Error('the server calls its own function')),
}

interface Answer {
  readonly id: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

/** A client that is connected to a server, as the SDK is. */
class Client {
  onmessage?: (message: object) => void
  onclose?: () => void
  readonly answers: Answer[] = []
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  isClosed = false
  #id = 0

  static async connect(
    execute: (call: SkillCall) => Promise<{ text: string; isError: boolean }>,
  ): Promise<Client> {
    const client = new Client()
    await new SkillServer(() => [TOOL], execute).connect(client)
    return client
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  send(message: object): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('Transport is closed'))
    const answer = message as Answer
    this.answers.push(answer)
    this.#waiting.get(answer.id)?.(answer)
    return Promise.resolve()
  }

  async request(method: string, params: object = {}): Promise<Answer> {
    const id = ++this.#id
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#waiting.set(id, resolve)
    this.onmessage?.({ jsonrpc: '2.0', id, method, params })
    return await promise
  }

  notify(method: string, params: object = {}): void {
    this.onmessage?.({ jsonrpc: '2.0', method, params })
  }
}

const CALL = { name: 'skill', arguments: { name: 'pdf' }, _meta: { 'claudecode/toolUseId': 'toolu_1' } }

test('SkillServer lists its tools, which are always loaded and only read', async () => {
  const client = await Client.connect(() => Promise.resolve({ text: '', isError: false }))
  const { result } = await client.request('initialize', { protocolVersion: '2025-11-25' })
  expect(result).toMatchObject({ protocolVersion: '2025-11-25', capabilities: { tools: {} } })
  client.notify('notifications/initialized')
  const list = await client.request('tools/list')
  const annotations = { readOnlyHint: true, openWorldHint: false }
  expect(list.result?.['tools']).toEqual([
    {
      ...{ name: 'skill', description: 'Loads.', inputSchema: TOOL.inputSchema, annotations },
      _meta: { 'anthropic/alwaysLoad': true },
    },
  ])
  expect((await client.request('ping')).result).toEqual({})
})

test('SkillServer passes a call with its id and its input, and returns the text', async () => {
  const client = await Client.connect(({ name, input, toolUseId }) =>
    Promise.resolve({ text: JSON.stringify({ name, input, toolUseId }), isError: true }),
  )
  const { result } = await client.request('tools/call', CALL)
  const text = '{"name":"skill","input":{"name":"pdf"},"toolUseId":"toolu_1"}'
  expect(result).toEqual({ content: [{ type: 'text', text }], isError: true })
})

test('SkillServer returns a failure as text, and an error for an unknown method', async () => {
  const client = await Client.connect(() => Promise.reject(new Error('the session is closed')))
  const { result } = await client.request('tools/call', CALL)
  expect(result).toEqual({ content: [{ type: 'text', text: 'the session is closed' }], isError: true })
  const { error } = await client.request('prompts/list')
  expect(error).toEqual({ code: -32_601, message: 'there is no method "prompts/list"' })
})

test.each([
  ['a cancelled request', (client: Client) => client.notify('notifications/cancelled', { requestId: 1 })],
  ['a closed transport', (client: Client) => client.onclose?.()],
])('SkillServer aborts the call of %s, and does not answer', async (_, abort) => {
  const { promise, resolve } = Promise.withResolvers<SkillCall>()
  const client = await Client.connect(call => {
    resolve(call)
    return new Promise((_resolve, reject) => {
      call.signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  })
  void client.request('tools/call', CALL)
  const { signal } = await promise
  abort(client)
  expect(signal.aborted).toBe(true)
  await client.request('ping')
  expect(client.answers.map(({ id }) => id)).toEqual([2])
})

test('SkillServer drops an answer when the transport has closed', async () => {
  const work = Promise.withResolvers<{ text: string; isError: boolean }>()
  const client = await Client.connect(async () => await work.promise)
  void client.request('tools/call', CALL)
  client.isClosed = true
  work.resolve({ text: 'Late.', isError: false })
  await new Promise(resolve => setImmediate(resolve))
  expect(client.answers).toEqual([])
})
