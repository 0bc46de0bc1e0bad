import { once } from 'node:events'
import { request } from 'node:http'
import type { ApiClient, ChatEvent, ChatRequest } from 'skillstoke/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { type ChatReply, OpenAiServer } from './fixtures/openai-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

type EventOf<K extends ChatEvent['kind']> = Extract<ChatEvent, { kind: K }>

/** Asks a question, and returns all events of the turn. */
async function ask(client: ApiClient, question: ChatRequest): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const event of client.ask(question)) events.push(event)
  return events
}

function find<K extends ChatEvent['kind']>(events: readonly ChatEvent[], kind: K): EventOf<K> {
  const event = events.find((each): each is EventOf<K> => each.kind === kind)
  if (event === undefined) throw new Error(`no ${kind} in ${JSON.stringify(events)}`)
  return event
}

function kindsOf(events: readonly ChatEvent[]): string[] {
  return events.map(({ kind }) => kind).filter((kind, index, all) => kind !== all[index - 1])
}

describe('the playground API', () => {
  const folder = new TemporaryFolder()
  const state = new TemporaryFolder()
  let dev: DevProcess

  beforeAll(async () => {
    folder.writeSkill('refund', { body: 'Within 30 days.' })
    folder.writeSkill('hidden')
    dev = await startDev({
      root: folder.path,
      state: state.path,
      args: ['--no-agent', '--exclude', 'hidden'],
    })
  })
  afterAll(async () => {
    await dev[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    state[Symbol.dispose]()
  })

  test('a question is answered with the events of the turn, and the conversation shows exactly what the model has', async () => {
    const { client } = dev
    const events = await ask(client, { question: 'May I get a refund?' })
    expect(kindsOf(events)).toEqual([
      ...['started', 'model-call', 'tool-call', 'tool-result', 'model-answer'],
      ...['model-call', 'text', 'model-answer', 'finish'],
    ])
    const { conversation, model, turn } = find(events, 'started')
    expect([model, turn]).toEqual(['offline', 1])
    expect(conversation).toMatch(/^try-[0-9a-f]{8}$/)
    const finish = find(events, 'finish')
    expect(finish.text).toContain('Within 30 days.')
    expect(finish.usage.inputTokens).toBeGreaterThan(100)
    const spoken = events.flatMap(event => (event.kind === 'text' ? event.delta : [])).join('')
    expect(spoken).toBe(finish.text)

    const chat = await client.chat(conversation)
    const revision = (await client.skills()).skills.find(({ name }) => name === 'refund')?.serving
    expect(chat.system).toMatch(/^You are a helpful assistant\.\n\n.*<name>refund<\/name>/s)
    expect(chat.system).not.toContain('hidden')
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(chat.messages[0]?.content).toBe('May I get a refund?')
    expect(chat.tools.find(({ name }) => name === 'skill')?.inputSchema).toMatchObject({ type: 'object' })
    expect(chat.loaded).toEqual([{ name: 'refund', revision, isCurrent: true }])
    expect(chat).toMatchObject({ id: conversation, model: 'offline', isAnswering: false, pending: null })
    const [first, second] = chat.turns[0]?.calls ?? []
    expect(first).toMatchObject({ step: 1, last: null, isUnchanged: true })
    expect(second).toMatchObject({
      step: 2,
      last: first?.prefix,
      sentBefore: first?.prefix,
      isUnchanged: true,
    })
    expect(second?.usage?.outputTokens).toBeGreaterThan(0)
    expect((await client.status()).model).toBe('offline')
    expect((await client.sessions()).sessions.map(({ id }) => id)).toContain(conversation)
  })

  test('an edit between two questions arrives as a notice before the next model call, and the prefix stays unchanged', async () => {
    const { client } = dev
    folder.writeSkill('parcels', { body: 'Ships on Monday.' })
    const question = 'When is the parcels day?'
    const { conversation } = find(await ask(client, { question }), 'started')
    folder.writeSkill('parcels', { body: 'Ships on Friday.' })
    const before = await client.chat(conversation)
    expect(before.loaded).toMatchObject([{ name: 'parcels', isCurrent: false }])
    expect(before.pending?.text).toContain('you loaded parcels')
    const events = await ask(client, { question, conversation })
    expect(kindsOf(events).slice(0, 3)).toEqual(['started', 'skills-updated', 'model-call'])
    expect(find(events, 'skills-updated').update.text).toBe(before.pending?.text)
    expect(events.flatMap(event => (event.kind === 'model-call' ? event.prefix.isUnchanged : []))).toEqual([
      true,
      true,
    ])
    expect(find(events, 'finish').text).toContain('Ships on Friday.')
    const after = await client.chat(conversation)
    expect(after.pending).toBeNull()
    expect(after.turns.map(({ told }) => told.length)).toEqual([0, 1])
    expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages)
  })

  test('a named skill is invoked by its slash command, with or without a question', async () => {
    const { client } = dev
    const revision = (await client.skills()).skills.find(({ name }) => name === 'refund')?.serving
    for (const question of ['for order 7', '']) {
      const events = await ask(client, { question, skill: 'refund' })
      expect(find(events, 'skill-invoked')).toEqual({ kind: 'skill-invoked', name: 'refund', revision })
      const { messages } = await client.chat(find(events, 'started').conversation)
      expect(messages[0]?.content).toMatch(new RegExp(`^${question}\\s*<skill name="refund">\nWithin`))
    }
  })

  test.each<[string, ChatRequest, number, string]>([
    ['an empty question', { question: ' ' }, 400, 'question: the question is empty'],
    ['an unknown conversation', { question: 'x', conversation: 'try-0' }, 404, '"try-0"; only the last 100'],
    ['an unknown skill', { question: 'x', skill: 'refnud' }, 404, '"refnud" cannot be invoked: '],
    ['a skill outside the scope', { question: 'x', skill: 'hidden' }, 404, '"hidden" cannot be invoked: '],
    ['an unknown field', { question: 'x', modle: 'y' } as ChatRequest, 400, 'modle'],
    ['a large body', { question: 'x'.repeat(20_000) }, 413, 'at most 16384 bytes'],
  ])('%s is refused with a reason', async (_, question, status, message) => {
    await expect(ask(dev.client, question)).rejects.toMatchObject({
      status,
      message: expect.stringContaining(message),
    })
  })

  test('the routes are guarded like all other routes', async () => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${dev.token}` }
    const post = async (extra: Record<string, string>): Promise<number> =>
      (await fetch(`${dev.url}/api/chat`, { method: 'POST', headers: { ...headers, ...extra }, body: '{}' }))
        .status
    expect(await post({})).toBe(400)
    expect(await post({ authorization: 'Bearer wrong' })).toBe(401)
    expect(await post({ origin: 'http://evil.example' })).toBe(403)
    expect(await post({ 'content-type': 'text/plain' })).toBe(415)
    expect((await fetch(`${dev.url}/api/chat/try-0`)).status).toBe(401)
    await expect(dev.client.chat('dev')).rejects.toMatchObject({ status: 404 })
    const refused = request(`${dev.url}/api/chat`, {
      method: 'POST',
      headers: { ...headers, host: 'evil.example' },
    })
    const [response] = await once(refused.end('{}'), 'response')
    response.resume()
    expect(response.statusCode).toBe(403)
  })

  test('at most 20 conversations are open, an idle one continues when it is used again, and the oldest are forgotten', async () => {
    const { client } = dev
    const countOpen = async (): Promise<number> => (await client.sessions()).sessions.length
    const question = 'Tell me about refund.'
    const { conversation: first } = find(await ask(client, { question }), 'started')
    const start = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) await ask(client, { question: 'Hello.' })
    }
    await start(25)
    expect(await countOpen()).toBe(20)
    expect((await client.sessions()).sessions.map(({ id }) => id)).not.toContain(first)
    const events = await ask(client, { question, conversation: first })
    expect(find(events, 'started').turn).toBe(2)
    const { messages, turns } = await client.chat(first)
    expect(messages.filter(({ content }) => content === question)).toHaveLength(2)
    expect(turns).toHaveLength(2)
    expect(turns[1]?.calls[0]).toMatchObject({ isUnchanged: true })
    expect(await countOpen()).toBe(20)
    await start(100)
    await expect(client.chat(first)).rejects.toMatchObject({ status: 404 })
    expect(await countOpen()).toBe(20)
  })
})

describe('the playground with a model server', () => {
  /** Starts `dev` with a model server of this test. */
  async function startWith(
    reply: (call: number) => ChatReply,
  ): Promise<AsyncDisposable & { dev: DevProcess; server: OpenAiServer; folder: TemporaryFolder }> {
    const folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    const server = await OpenAiServer.start(reply)
    const model = ['--base-url', server.baseUrl, '--model', 'test-model']
    const dev = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent', ...model],
    })
    return {
      ...{ dev, server, folder },
      [Symbol.asyncDispose]: async () => {
        await dev[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
        folder[Symbol.dispose]()
      },
    }
  }

  test('the shown prompt is the prompt that the provider receives', async () => {
    await using it = await startWith(call =>
      call === 1
        ? { kind: 'tool', name: 'skill', input: { name: 'refund' } }
        : { kind: 'text', text: 'Yes.' },
    )
    const { client } = it.dev
    const events = await ask(client, { question: 'Refund?' })
    expect(find(events, 'started').model).toBe('test-model')
    const { system, messages, tools } = await client.chat(find(events, 'started').conversation)
    const sent = it.server.requests.at(-1)
    expect(sent?.messages[0]).toEqual({ role: 'system', content: system })
    expect(sent?.messages.map(({ role }) => role)).toEqual([
      'system',
      ...messages.slice(0, -1).map(({ role }) => role),
    ])
    expect(sent?.tools?.map(tool => tool.function.name).sort()).toEqual(tools.map(({ name }) => name).sort())
    expect(JSON.stringify(messages)).toContain('Within 30 days.')
  })

  test('when the client leaves, the model call is aborted, and the conversation can be continued', async () => {
    await using it = await startWith(call =>
      call === 1 ? { kind: 'stall' } : { kind: 'text', text: 'Back.' },
    )
    const { client } = it.dev
    const controller = new AbortController()
    let conversation = ''
    const turn = (async () => {
      for await (const event of client.ask({ question: 'One?' }, { signal: controller.signal })) {
        if (event.kind === 'started') conversation = event.conversation
        if (event.kind === 'text') controller.abort()
      }
    })()
    await expect(turn).rejects.toThrow('aborted')
    await expect.poll(() => it.server.aborted).toBe(1)
    await expect.poll(async () => (await client.chat(conversation)).isAnswering).toBe(false)
    expect((await client.chat(conversation)).turns).toMatchObject([
      { question: 'One?', answer: null, failure: 'stopped before the answer was complete' },
    ])
    const events = await ask(client, { question: 'Two?', conversation })
    expect(find(events, 'finish').text).toBe('Back.')
    expect(it.server.requests[1]?.messages.map(({ content }) => content).slice(1)).toEqual([
      'One?',
      'One',
      '[The user stopped this answer.]',
      'Two?',
    ])
  })

  test('questions to one conversation are answered one after the other', async () => {
    await using it = await startWith(() => ({ kind: 'text', text: 'Yes.' }))
    const { client } = it.dev
    const { conversation } = find(await ask(client, { question: 'Zero?' }), 'started')
    await Promise.all(['One?', 'Two?', 'Three?'].map(question => ask(client, { question, conversation })))
    const { messages, turns } = await client.chat(conversation)
    expect(messages.map(({ role }) => role)).toEqual([1, 2, 3, 4].flatMap(() => ['user', 'assistant']))
    expect(turns.map(({ turn, answer }) => [turn, answer])).toEqual([1, 2, 3, 4].map(turn => [turn, 'Yes.']))
  })

  test('a failure of the provider ends the turn with a reason, and the next question works', async () => {
    await using it = await startWith(call =>
      call === 1 ? { kind: 'status', status: 400 } : { kind: 'text', text: 'Yes.' },
    )
    const { client } = it.dev
    const failed = await ask(client, { question: 'One?' })
    expect(failed.at(-1)).toEqual({ kind: 'failed', code: 'MODEL_FAILED', message: 'status 400' })
    const { conversation } = find(failed, 'started')
    expect(find(await ask(client, { question: 'Two?', conversation }), 'finish').text).toBe('Yes.')
  })

  test('while 20 answers are written, a further question is refused, and stopping dev ends all answers', async () => {
    await using it = await startWith(() => ({ kind: 'stall' }))
    const { client } = it.dev
    const ends: Promise<ChatEvent | undefined>[] = []
    for (let index = 0; index < 20; index++) {
      const spoke = Promise.withResolvers<void>()
      ends.push(
        (async () => {
          let last: ChatEvent | undefined
          for await (const event of client.ask({ question: 'Stall.' })) {
            last = event
            if (event.kind === 'text') spoke.resolve()
          }
          return last
        })(),
      )
      await spoke.promise
    }
    await expect(ask(client, { question: 'One more?' })).rejects.toMatchObject({
      status: 503,
      code: 'TOO_MANY',
    })
    it.dev.process.kill('SIGTERM')
    const [code] = (await once(it.dev.process, 'exit')) as [number | null]
    expect(code).toBe(0)
    expect(new Set((await Promise.all(ends)).map(event => JSON.stringify(event)))).toEqual(
      new Set([
        JSON.stringify({ kind: 'failed', code: 'CLOSED', message: 'stopped before the answer was complete' }),
      ]),
    )
  })
})
