import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { jsonSchema, type ToolSet, tool } from 'ai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ScriptedAnswer, ScriptedModel } from '../../../tests/fixtures/scripted-model.ts'
import type { AgentEvent } from './agent-event.ts'
import { Conversation } from './conversation.ts'
import { ConversationBusyError, type ConversationStore, type StoredMessage } from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { SkillAgent, type SkillAgentOptions } from './skill-agent.ts'
import type { TurnInput } from './turn-input.ts'

const inputSchema = jsonSchema({ type: 'object', properties: { id: { type: 'string' } } })
const REFUND: ScriptedAnswer = { tool: 'pay_back', input: { id: '1042' } }
const ASK: ScriptedAnswer = { tool: 'ask_browser', input: { id: '1042' } }
const LOAD: ScriptedAnswer = { tool: 'skill', input: { name: 'refund' } }
const DONE: ScriptedAnswer = { text: 'Done.' }

let source: MemorySource
let skills: SkillRuntime
let store: ConversationStore
let payments: unknown[]

beforeEach(async () => {
  source = new MemorySource({ label: 'mine' }, [
    { name: 'refund', description: 'Refunds an order.', body: 'Use form ONE.' },
  ])
  skills = await createSkillRuntime({ sources: [source] })
  store = new MemoryConversationStore()
  payments = []
})
afterEach(async () => await skills.close())

const tools: ToolSet = {
  pay_back: tool({
    description: 'Pays money back.',
    inputSchema,
    needsApproval: true,
    execute: input => {
      payments.push(input)
      return 'Paid.'
    },
  }),
  ask_browser: tool({ description: 'Reads a value in the browser.', inputSchema }),
}

function play(...answers: readonly ScriptedAnswer[]): ScriptedModel {
  return new ScriptedModel(call => answers[call - 1] ?? DONE)
}

function createAgent(model: LanguageModelV4, options: Partial<SkillAgentOptions> = {}): SkillAgent {
  return new SkillAgent({ skills, model, tools, store, ...options })
}

/** Returns the last request as JSON. */
const lastRequest = (model: ScriptedModel): string => JSON.stringify(model.requests.at(-1)?.prompt)

/** Returns the calls of a request that have no result. Providers refuse such a request. */
function openCalls(model: ScriptedModel): string[] {
  const parts = (model.requests.at(-1)?.prompt ?? []).flatMap(
    ({ content }): readonly Exclude<(typeof content)[number], string>[] =>
      typeof content === 'string' ? [] : content,
  )
  const answered = parts.flatMap(part => (part.type === 'tool-result' ? part.toolCallId : []))
  return parts.flatMap(part =>
    part.type === 'tool-call' && !answered.includes(part.toolCallId) ? part.toolCallId : [],
  )
}

describe('a tool call that needs approval', () => {
  test('ends the turn, and runs after the approval', async () => {
    const model = play(REFUND, DONE)
    const chat = createAgent(model).conversation('chat')
    const { pending, finishReason, hasReachedLimit } = await chat.send('Refund 1042.')
    expect(pending).toEqual([
      {
        kind: 'approval',
        approvalId: expect.any(String),
        callId: 'call-1',
        name: 'pay_back',
        input: { id: '1042' },
      },
    ])
    expect([finishReason, hasReachedLimit, payments]).toEqual(['tool-calls', false, []])
    const events: AgentEvent[] = []
    for await (const event of chat.stream({ answers: [{ callId: 'call-1', approved: true }] }))
      events.push(event)
    expect(payments).toEqual([{ id: '1042' }])
    expect(events.find(event => event.kind === 'tool-result')).toMatchObject({
      callId: 'call-1',
      output: 'Paid.',
    })
    expect(lastRequest(model)).toContain('Paid.')
    expect([chat.pending, openCalls(model)]).toEqual([[], []])
    await chat.send('Thanks.')
    expect(openCalls(model)).toEqual([])
  })

  test('does not run after a denial, and the model receives the reason', async () => {
    const model = play(REFUND, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Refund 1042.')
    await chat.send({ answers: [{ callId: 'call-1', approved: false, reason: 'Too expensive.' }] })
    expect(payments).toEqual([])
    expect(lastRequest(model)).toContain('Too expensive.')
    await chat.send('And now?')
    expect(openCalls(model)).toEqual([])
  })

  test('waits across a restart, and runs once when the answer comes in the new process', async () => {
    const first = createAgent(play(REFUND))
    await first.conversation('chat').send('Refund 1042.')
    await first.close()
    const model = play(DONE)
    const chat = await createAgent(model).open('chat')
    expect(chat.pending).toHaveLength(1)
    await chat.send({ answers: [{ callId: 'call-1', approved: true }] })
    expect(payments).toEqual([{ id: '1042' }])
    expect(openCalls(model)).toEqual([])
  })

  test.each(['in the same process', 'after a restart'])(
    'does not end the turn: the loaded skill still forbids other tools %s',
    async place => {
      source.put({ name: 'refund', description: 'Refunds.', fields: { 'allowed-tools': 'pay_back' } })
      const sent: unknown[] = []
      const send_mail = tool({ inputSchema, execute: input => sent.push(input) })
      const MAIL: ScriptedAnswer = { tool: 'send_mail', input: { id: '1042' } }
      const model = play(LOAD, REFUND, MAIL, DONE, MAIL, DONE)
      const options = { tools: { ...tools, send_mail }, allowedTools: 'enforce' } as const
      let agent = createAgent(model, options)
      await agent.conversation('chat').send('Refund 1042.')
      if (place === 'after a restart') {
        await agent.close()
        agent = createAgent(model, options)
      }
      const chat = await agent.open('chat')
      await chat.send({ answers: [{ callId: 'call-2', approved: true }] })
      expect([payments.length, sent]).toEqual([1, []])
      expect(lastRequest(model)).toContain('may not be called in this way')
      await chat.send('Send the mail.')
      expect(sent).toHaveLength(1)
    },
  )

  test('is declined when the user writes a new message, and later turns work', async () => {
    const model = play(REFUND, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Refund 1042.')
    expect((await chat.send('Stop.')).text).toBe('Done.')
    expect(openCalls(model)).toEqual([])
    expect(lastRequest(model)).toContain('because the user wrote a new message instead')
    expect(payments).toEqual([])
  })
})

describe('an approved call', () => {
  const APPROVED = { answers: [{ callId: 'call-1', approved: true }] }
  const failsAt = (failing: number): ScriptedModel =>
    new ScriptedModel(call => {
      if (call === failing) throw new Error('overloaded')
      return call === 1 ? REFUND : DONE
    })

  test.each(['append', 'rebuild'] as const)(
    'runs if a skill changed while it waited (%s)',
    async delivery => {
      const model = play(REFUND, DONE)
      const chat = createAgent(model, { delivery }).conversation('chat')
      await chat.send('/refund the order 1042')
      source.put({ name: 'refund', description: 'Refunds an order.', body: 'Use form TWO.' })
      source.put({ name: 'maps', description: 'Draws maps.' })
      await chat.send(APPROVED)
      expect(payments).toEqual([{ id: '1042' }])
      expect(lastRequest(model)).toMatch(/Paid\./)
      expect(openCalls(model)).toEqual([])
    },
  )

  test('that is denied leaves a conversation that works, even if a skill changed', async () => {
    const model = play(REFUND, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Refund 1042.')
    source.put({ name: 'maps', description: 'Draws maps.' })
    await chat.send({ answers: [{ callId: 'call-1', approved: false }] })
    expect([payments, openCalls(model)]).toEqual([[], []])
    expect(lastRequest(model)).toContain('added: maps')
  })

  test.each([
    ['a retry', { retry: true }],
    ['a new message', 'Never mind.'],
  ] as const)('runs once if the next model call fails, and %s follows', async (_, input) => {
    const model = failsAt(2)
    const chat = createAgent(model, { maxRetries: 0 }).conversation('chat')
    await chat.send('Refund 1042.')
    await expect(chat.send(APPROVED)).rejects.toThrow('overloaded')
    expect([payments.length, chat.pending]).toEqual([1, []])
    expect((await chat.send(input)).text).toBe('Done.')
    expect([payments.length, openCalls(model)]).toEqual([1, []])
    expect(lastRequest(model)).toContain('Paid.')
  })

  test.each([
    ['a retry', { retry: true }],
    ['the same answer', APPROVED],
    ['a new message', 'Never mind.'],
  ] as const)('runs once if the store fails to append its result, and %s follows', async (_, input) => {
    class FailingStore extends MemoryConversationStore {
      hasFailed = false
      override async append(...given: Parameters<MemoryConversationStore['append']>): Promise<number> {
        if (given[3][0]?.role === 'tool' && !this.hasFailed) {
          this.hasFailed = true
          throw new Error('disk full')
        }
        return await super.append(...given)
      }
    }
    const model = play(REFUND, DONE)
    const chat = createAgent(model, { store: new FailingStore() }).conversation('chat')
    await chat.send('Refund 1042.')
    await expect(chat.send(APPROVED)).rejects.toThrow('disk full')
    expect((await chat.send(input)).text).toBe('Done.')
    expect([payments.length, openCalls(model)]).toEqual([1, []])
    expect(lastRequest(model)).toContain('Paid.')
  })

  test('keeps its result if the host stops reading the turn after it', async () => {
    const model = play(REFUND, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Refund 1042.')
    for await (const event of chat.stream(APPROVED)) if (event.kind === 'tool-result') break
    await chat.send('And now?')
    expect([payments.length, openCalls(model)]).toEqual([1, []])
    expect(lastRequest(model)).toContain('Paid.')
  })

  test('runs although a choice of tools demands a call in every answer', async () => {
    const model = play(REFUND, ASK)
    const chat = createAgent(model, { call: { toolChoice: 'required' } }).conversation('chat')
    await chat.send('Refund 1042.')
    const { pending } = await chat.send(APPROVED)
    expect([payments.length, pending.map(({ name }) => name)]).toEqual([1, ['ask_browser']])
  })

  test('of a tool that only the host can run becomes a call for the host', async () => {
    const model = new ScriptedModel(call => (call === 1 ? { calls: [ASK, REFUND] } : DONE))
    const call = { toolApproval: { ask_browser: 'user-approval' } } as const
    const chat = createAgent(model, { call }).conversation('chat')
    const { pending } = await chat.send('Refund 1042.')
    expect(pending.map(({ kind }) => kind)).toEqual(['client-tool', 'approval'])
    await chat.send({
      answers: [
        { callId: 'call-1', output: 'Open.' },
        { callId: 'call-1-1', approved: true },
      ],
    })
    expect([payments.length, openCalls(model)]).toEqual([1, []])
  })

  test('waits again if the turn is aborted while it runs', async () => {
    const model = play(REFUND, DONE)
    const abort = new AbortController()
    const slow = tool({
      inputSchema,
      needsApproval: true,
      execute: async (_, { abortSignal }) => {
        abort.abort(new Error('stop'))
        await new Promise((_resolve, reject) => abortSignal?.addEventListener('abort', reject))
      },
    })
    const chat = createAgent(model, { tools: { pay_back: slow } }).conversation('chat')
    await chat.send('Refund 1042.')
    await expect(chat.send(APPROVED, { signal: abort.signal })).rejects.toThrow('stop')
    expect(chat.pending).toHaveLength(1)
    expect((await chat.send('Never mind.')).text).toBe('Done.')
    expect(openCalls(model)).toEqual([])
  })

  test('and the result of a client tool reach the model together', async () => {
    const model = new ScriptedModel(call => (call === 1 ? { calls: [REFUND, ASK] } : DONE))
    const chat = createAgent(model).conversation('chat')
    const { pending } = await chat.send('Refund 1042.')
    await chat.send({
      answers: pending.map(({ callId, kind }) =>
        kind === 'approval' ? { callId, approved: true } : { callId, output: 'The page is open.' },
      ),
    })
    expect(lastRequest(model)).toMatch(/The page is open.*Paid|Paid.*The page is open/)
    expect([chat.pending, openCalls(model)]).toEqual([[], []])
  })
})

describe('send()', () => {
  test.each<[unknown, string]>([
    ['', 'the message is empty'],
    [' \n', 'the message is empty'],
    [[], 'the message is empty'],
    [{}, 'the input is {}; use a text'],
    [{ answers: undefined }, 'the input is {}; use a text'],
    [{ retry: false }, 'the input is {"retry":false}; use a text'],
    [{ answers: [] }, 'no call waits for an answer'],
  ])('refuses %j, and stores nothing', async (input, message) => {
    const model = play(DONE)
    const chat = createAgent(model).conversation('chat')
    await expect(chat.send(input as string)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
    })
    expect([model.requests, chat.messages]).toEqual([[], []])
  })
})

describe('a tool without execute', () => {
  test('ends the turn, and the conversation continues with the result of the host', async () => {
    const model = play(ASK, DONE)
    const chat = createAgent(model).conversation('chat')
    expect((await chat.send('What does the page say?')).pending).toMatchObject([
      { kind: 'client-tool', callId: 'call-1', name: 'ask_browser' },
    ])
    await chat.send({ answers: [{ callId: 'call-1', output: { page: 'open' } }] })
    expect(lastRequest(model)).toContain(JSON.stringify('{"page":"open"}'))
    expect(openCalls(model)).toEqual([])
  })

  test.each([
    [[], 'the call "call-1" has no answer; waiting calls: call-1 (ask_browser, client-tool)'],
    [[{ callId: 'other', output: 1 }], 'no call "other" waits for an answer'],
    [[{ callId: 'call-1', approved: true }], 'the call "call-1" needs "output"'],
  ])('refuses the answers %j and stays pending', async (answers, message) => {
    const chat = createAgent(play(ASK)).conversation('chat')
    await chat.send('What does the page say?')
    await expect(chat.send({ answers })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
    })
    expect(chat.pending).toHaveLength(1)
  })
})

describe('send({ retry: true })', () => {
  const failOnce = (): ScriptedModel =>
    new ScriptedModel(call => {
      if (call === 1) throw new Error('overloaded')
      return DONE
    })

  test('answers the stored question after a failed turn, without repeating it', async () => {
    const model = failOnce()
    const chat = createAgent(model, { maxRetries: 0 }).conversation('chat')
    await expect(chat.send('Refund 1042.')).rejects.toThrow('overloaded')
    expect((await chat.send({ retry: true })).text).toBe('Done.')
    expect(lastRequest(model).split('Refund 1042.')).toHaveLength(2)
  })

  test('works in a new process', async () => {
    const first = createAgent(failOnce(), { maxRetries: 0 })
    await expect(first.conversation('chat').send('Refund 1042.')).rejects.toThrow('overloaded')
    await first.close()
    const model = play(DONE)
    await createAgent(model).conversation('chat').send({ retry: true })
    expect(lastRequest(model).split('Refund 1042.')).toHaveLength(2)
  })

  test('is refused if every message is answered', async () => {
    const chat = createAgent(play(DONE)).conversation('chat')
    await expect(chat.send({ retry: true })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await chat.send('Hello.')
    await expect(chat.send({ retry: true })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('the settings of model calls', () => {
  class RecordingModel extends ScriptedModel {
    readonly calls: LanguageModelV4CallOptions[] = []
    override async doStream(
      options: LanguageModelV4CallOptions,
    ): Promise<Awaited<ReturnType<LanguageModelV4['doStream']>>> {
      this.calls.push(options)
      return await super.doStream(options)
    }
  }

  test('reach the provider, with a cache breakpoint for Anthropic models', async () => {
    const model = new RecordingModel(() => DONE)
    const call = {
      temperature: 0.2,
      maxOutputTokens: 7,
      providerOptions: { openai: { user: 'u' }, anthropic: { effort: 'low' } },
    } as const
    await createAgent(model, { call }).conversation('chat').send('Hello.')
    expect(model.calls[0]).toMatchObject({
      temperature: 0.2,
      maxOutputTokens: 7,
      providerOptions: {
        openai: { user: 'u' },
        anthropic: { cacheControl: { type: 'ephemeral' }, effort: 'low' },
      },
    })
  })

  test('are refused with an unknown name', () => {
    const call = { temprature: 0.2 } as object
    expect(() => createAgent(play(), { call })).toThrow('did you mean "call.temperature"?')
  })

  test('contain a timeout, after which the next turn works', async () => {
    const model = new RecordingModel(() => DONE)
    const hang: LanguageModelV4 = {
      ...{ specificationVersion: 'v4', provider: 'test', modelId: 'hang', supportedUrls: {} },
      doGenerate: options => model.doGenerate(options),
      doStream: async options => {
        const isFirst = model.calls.length === 0
        const answer = await model.doStream(options)
        return isFirst ? { stream: new ReadableStream() } : answer
      },
    }
    const chat = createAgent(hang, { call: { timeout: { firstChunkMs: 20 } }, maxRetries: 0 }).conversation(
      'chat',
    )
    await expect(chat.send('Hello.')).rejects.toThrow(/time/i)
    expect((await chat.send({ retry: true })).text).toBe('Done.')
  })

  test('the result of a turn adds the tokens of all its calls', async () => {
    const chat = createAgent(play(LOAD, DONE)).conversation('chat')
    expect((await chat.send('Refund 1042.')).usage).toMatchObject({ inputTokens: 2, outputTokens: 2 })
  })

  test('a message may consist of content parts with attachments', async () => {
    const model = play(DONE)
    const image = { type: 'file', data: new TextEncoder().encode('hello'), mediaType: 'image/png' } as const
    const chat = createAgent(model).conversation('chat')
    await chat.send([{ type: 'text', text: 'What is this?' }, image])
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('image/png')
    // A store keeps JSON only, so bytes are stored as base64 text.
    expect((await store.read('local', 'chat'))[1]?.content).toEqual([
      { type: 'text', text: 'What is this?' },
      { ...image, data: 'aGVsbG8=' },
    ])
  })
})

describe('compact()', () => {
  const summarize = (): string => 'The user wants a refund.'

  test('replaces the messages, and puts loaded skills back at their live revisions', async () => {
    const model = play(LOAD, DONE, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('/refund with the arguments of before')
    source.put({ name: 'refund', description: 'Refunds an order.', body: 'Use form TWO.' })
    await chat.compact({ summarize })
    await chat.send('Go on.')
    const request = lastRequest(model)
    expect(request.split('Use form TWO.')).toHaveLength(2)
    expect(request).toContain('The user wants a refund.')
    expect(request).not.toMatch(/form ONE|arguments of before|skills_update/)
  })

  test('is in the store, so that a new process sends only the messages after it', async () => {
    const first = createAgent(play(LOAD, DONE, DONE))
    const chat = first.conversation('chat')
    await chat.send('The first question.')
    await chat.compact({ summarize })
    await chat.send('The second question.')
    const before = [chat.system, JSON.stringify(chat.messages)]
    await first.close()
    const later = await createAgent(play()).open('chat')
    expect([later.system, JSON.stringify(later.messages)]).toEqual(before)
    expect(before[1]).not.toContain('The first question.')
    expect(JSON.stringify(await store.read('local', 'chat'))).toContain('The first question.')
    expect(later.comparePrefix().isUnchanged).toBe(true)
  })

  test('lets the model write the summary, and never sends the tools with that request', async () => {
    const model = play(LOAD, DONE, { text: 'A summary by the model.' }, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Refund 1042.')
    await chat.compact()
    expect(model.requests[2]).toMatchObject({ tools: [] })
    expect(JSON.stringify(model.requests[2]?.prompt)).toContain('Refund 1042.')
    await chat.send('Go on.')
    expect(lastRequest(model)).toContain('A summary by the model.')
  })

  const SUMMARY: ScriptedAnswer = { text: 'A summary by the model.' }
  const LONG = 'x'.repeat(5_000)

  test.each<[string, TurnInput, string]>([
    ['a text', `Where is ${LONG} the order?`, 'the order?'],
    ['content parts', [{ type: 'text', text: `Where is ${LONG} the order?` }], 'the order?'],
    ['an invoked skill', '/refund the order 7', '/refund the order 7'],
  ])('happens by itself, and keeps the new question word for word: %s', async (_, input, expected) => {
    const model = play(LOAD, DONE, SUMMARY, DONE)
    const agent = createAgent(model, { compactAtTokens: 1 })
    // Two calls happen in the first turn, and nothing but the question can be compacted before them.
    await agent.conversation('chat').send('Refund 1042.')
    const events: AgentEvent[] = []
    for await (const event of agent.conversation('chat').stream(input)) events.push(event)
    expect(events.find(({ kind }) => kind === 'compacted')).toMatchObject({ restored: ['refund'] })
    expect(events.at(-1)).toMatchObject({ kind: 'finish', text: 'Done.', usage: { inputTokens: 2 } })
    const said = model.requests.at(-1)?.prompt.filter(({ role }) => role === 'user') ?? []
    expect(said).toHaveLength(3)
    expect(JSON.stringify(said[1])).toContain(expected)
    expect(lastRequest(model)).toContain('A summary by the model.')
    expect(lastRequest(model).split('Use form ONE.')).toHaveLength(2)
  })

  test('happens by itself in a turn, and keeps the results that the model has not seen', async () => {
    const model = play(DONE, SUMMARY, ASK, DONE)
    const chat = createAgent(model, { compactAtTokens: 1 }).conversation('chat')
    await chat.send('The first question.')
    await chat.send('What does the page say?')
    await chat.send({ answers: [{ callId: 'call-3', output: 'The page is open.' }] })
    expect(lastRequest(model)).toMatch(/What does the page say.*The page is open/)
    expect(openCalls(model)).toEqual([])
  })

  test('happens by itself in a new process, which knows no token count of the provider', async () => {
    const first = createAgent(play(DONE))
    await first.conversation('chat').send(`The first question. ${LONG}`)
    await first.close()
    const model = play(SUMMARY, DONE)
    const chat = createAgent(model, { compactAtTokens: 1_000 }).conversation('chat')
    await chat.send('The second question.')
    expect(lastRequest(model)).toMatch(/A summary by the model.*The second question/)
    expect(lastRequest(model)).not.toContain('The first question.')
  })

  test('after a failed turn keeps its question, so that a retry answers it', async () => {
    const model = new ScriptedModel(call => {
      if (call === 2) throw new Error('overloaded')
      return DONE
    })
    const chat = createAgent(model, { maxRetries: 0 }).conversation('chat')
    await chat.send('The first question.')
    await expect(chat.send('The second question.')).rejects.toThrow('overloaded')
    await chat.compact({ summarize })
    await chat.send({ retry: true })
    expect(lastRequest(model)).toMatch(/The user wants a refund.*The second question/)
  })

  test('keeps an old text of a skill only before the newest one', async () => {
    const model = new ScriptedModel(call => {
      if (call === 3) throw new Error('overloaded')
      return call === 2 ? LOAD : DONE
    })
    const chat = createAgent(model, { maxRetries: 0 }).conversation('chat')
    await chat.send('The first question.')
    await expect(chat.send('The second question.')).rejects.toThrow('overloaded')
    source.put({ name: 'refund', description: 'Refunds an order.', body: 'Use form TWO.' })
    await chat.compact({ summarize })
    await chat.send({ retry: true })
    expect(lastRequest(model)).toMatch(/The second question.*form ONE.*form TWO/)
  })

  test('does not make the summary a question, also in a new process', async () => {
    const first = createAgent(play(DONE))
    await first.conversation('chat').send('Hello.')
    await first.conversation('chat').compact({ summarize })
    await first.close()
    const later = createAgent(play(DONE)).conversation('chat')
    await expect(later.send({ retry: true })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('refuses an empty summary of the model, and changes nothing', async () => {
    const chat = createAgent(play(DONE, { text: '' })).conversation('chat')
    await chat.send('Hello.')
    const before = chat.messages
    await expect(chat.compact()).rejects.toThrow('the summary is ""')
    expect(chat.messages).toBe(before)
  })

  test('is refused while calls wait for an answer', async () => {
    const chat = createAgent(play(REFUND, DONE)).conversation('chat')
    await chat.send('Refund 1042.')
    await expect(chat.compact({ summarize })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('waiting calls: call-1 (pay_back, approval)'),
    })
    await chat.send({ answers: [{ callId: 'call-1', approved: true }] })
    expect(payments).toHaveLength(1)
  })

  test('refuses a summary that is no text', async () => {
    const chat = createAgent(play(DONE)).conversation('chat')
    await chat.send('Hello.')
    const nothing = (): string => undefined as unknown as string
    await expect(chat.compact({ summarize: nothing })).rejects.toThrow('the summary is undefined')
  })

  test('a summary that fails changes nothing', async () => {
    const chat = createAgent(play(LOAD, DONE)).conversation('chat')
    await chat.send('Refund 1042.')
    const before = [chat.system, chat.messages.length, chat.session.ledger.entries().length]
    const fail = (): never => {
      throw new Error('no summary')
    }
    await expect(chat.compact({ summarize: fail })).rejects.toThrow('no summary')
    expect([chat.system, chat.messages.length, chat.session.ledger.entries().length]).toEqual(before)
  })
})

describe('open conversations', () => {
  test('conversation() continues a stored conversation with its catalog and notices', async () => {
    const first = createAgent(play(LOAD, DONE))
    await first.conversation('chat').send('The first question.')
    const { system } = first.conversation('chat')
    await first.close()
    source.put({ name: 'maps', description: 'Draws maps.' })
    const model = play(DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('The second question.')
    expect(chat.system).toBe(system)
    expect(lastRequest(model)).toMatch(/The first question.*The second question.*added: maps/)
  })

  test('the agent closes the conversations that were idle for the longest time', async () => {
    const agent = createAgent(play(), { maxOpen: 2 })
    for (const id of ['a', 'b', 'a', 'c']) await agent.conversation(id).send('Hello.')
    expect(
      skills
        .sessions()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['a', 'c'])
    await agent.conversation('b').send('Still there?')
    expect(agent.conversation('b').messages).toHaveLength(4)
  })

  test('close() waits for running turns, closes every conversation, and refuses new ones', async () => {
    const agent = createAgent(play())
    const turn = agent.conversation('a').send('Hello.')
    await agent.close()
    expect((await turn).text).toBe('Done.')
    expect(skills.sessions()).toEqual([])
    expect(() => agent.conversation('a')).toThrow('the agent is closed')
    await expect(agent.open('a')).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('close() aborts the turns that still run after the grace period', async () => {
    const agent = createAgent(play())
    const events = agent.conversation('a').stream('Hello.')
    await events.next()
    await agent.close({ graceMs: 0 })
    expect(skills.sessions()).toEqual([])
    await expect(events.next()).rejects.toMatchObject({ code: 'CLOSED' })
    const later = createAgent(play()).conversation('a')
    expect((await later.send({ retry: true })).text).toBe('Done.')
  })

  test('close() during the first read of a conversation leaves no session behind', async () => {
    const gate = Promise.withResolvers<void>()
    class SlowStore extends MemoryConversationStore {
      override async read(
        ...given: Parameters<MemoryConversationStore['read']>
      ): Promise<readonly StoredMessage[]> {
        await gate.promise
        return await super.read(...given)
      }
    }
    const agent = createAgent(play(), { store: new SlowStore() })
    const turn = agent.conversation('a').send('Hello.')
    await agent.close({ graceMs: 0 })
    gate.resolve()
    await expect(turn).rejects.toMatchObject({ code: 'CLOSED' })
    expect(skills.sessions()).toEqual([])
  })

  test('an aborted turn that waits ends at once, and the next turn still waits', async () => {
    const chat = createAgent(play(DONE, DONE)).conversation('a')
    const paused = chat.stream('The first question.')
    await paused.next()
    const abort = new AbortController()
    const waiting = chat.send('The second question.', { signal: abort.signal })
    const last = chat.send('The third question.')
    abort.abort(new Error('stop'))
    await expect(waiting).rejects.toThrow('stop')
    for await (const _ of paused);
    expect((await last).text).toBe('Done.')
    expect(JSON.stringify(chat.messages)).toMatch(/first question.*Done.*third question/)
  })

  test('a failure to release the claim does not replace the answer', async () => {
    class Unreleased extends MemoryConversationStore {
      override async release(): Promise<void> {
        throw new Error('the database is gone')
      }
    }
    const chat = createAgent(play(), { store: new Unreleased() }).conversation('a')
    expect((await chat.send('Hello.')).text).toBe('Done.')
    expect((await chat.send('Again.')).text).toBe('Done.')
  })

  test('a second process stops before it calls the model while another one answers', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const wait = tool({
      inputSchema,
      execute: async () => {
        started.resolve()
        await promise
        return 'Ready.'
      },
    })
    const slow = createAgent(play({ tool: 'wait', input: {} }, DONE), { tools: { wait } })
    const answer = slow.conversation('chat').send('Take your time.')
    await started.promise
    const other = await createSkillRuntime({ sources: [source] })
    const model = play(DONE)
    const busy = new SkillAgent({ skills: other, model, store }).conversation('chat').send('Quickly.')
    await expect(busy).rejects.toBeInstanceOf(ConversationBusyError)
    expect(model.requests).toEqual([])
    resolve()
    expect((await answer).text).toBe('Done.')
    await new SkillAgent({ skills: other, model, store }).conversation('chat-2').send('Hello.')
    expect(model.requests).toHaveLength(1)
    await other.close()
  })

  test('stored messages name the skills that answered, with their revisions', async () => {
    await createAgent(play(LOAD, DONE)).conversation('chat').send('Refund 1042.')
    const { revision } = skills.current.get('refund')
    expect(await store.findUses('local', 'refund')).toMatchObject([
      { conversation: 'chat', callId: 'call-1', tool: 'skill', skill: 'refund', revision },
    ])
  })
})

describe('takeBack(), { again: true } and branch()', () => {
  const rewrite = (body: string): void =>
    source.put({ name: 'refund', description: 'Refunds an order.', body })

  test('an answer that is given again stores what it has loaded again', async () => {
    const chat = createAgent(play(LOAD, DONE, LOAD, DONE)).conversation('chat')
    await chat.send('May I?')
    await chat.send({ again: true })
    chat.close()
    rewrite('Use form TWO.')
    const model = play(DONE)
    await createAgent(model).conversation('chat').send('And now?')
    expect(JSON.stringify(model.requests)).toContain('you loaded refund')
  })

  test('{ again: true } answers the same question without what the first answer loaded', async () => {
    const model = play(DONE, LOAD, { text: 'A bad answer.' }, DONE, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('Hello.')
    await chat.send('May I?')
    rewrite('Use form TWO.')
    expect((await chat.send({ again: true })).text).toBe('Done.')
    expect(chat.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Hello.'],
      ['assistant', expect.anything()],
      ['user', 'May I?'],
      ['assistant', expect.anything()],
    ])
    expect(chat.session.ledger.entries()).toEqual([])
    expect(lastRequest(model)).not.toMatch(/bad answer|you loaded refund/)
    const [, first = [], , again] = model.requests.map(request => ScriptedModel.toParts(request))
    expect(again?.slice(0, first.length)).toEqual(first)
  })

  test('a notice is told again, also by an agent that opens the stored conversation', async () => {
    const model = play(LOAD, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('May I?')
    rewrite('Use form TWO.')
    await chat.send('And now?')
    await chat.takeBack()
    expect(lastRequest(model)).toMatch(/you loaded refund/)
    chat.close()
    const again = await createAgent(model).open('chat')
    expect(again.messages).toHaveLength(4)
    await again.send('And then?')
    expect(lastRequest(model).match(/you loaded refund/g)).toHaveLength(1)
    expect(lastRequest(model)).not.toContain('And now?')
    expect(await again.questions()).toEqual(['May I?', 'And then?'])
  })

  test('a slash invocation that is answered again keeps the instructions and knows their revision', async () => {
    const model = play()
    const chat = createAgent(model).conversation('chat')
    await chat.send('/refund 1042')
    rewrite('Use form TWO.')
    await chat.send({ again: true })
    expect(lastRequest(model)).toMatch(/Use form ONE.*you loaded refund/)
  })

  test('takeBack() goes back before a compaction, and drops calls that wait', async () => {
    const model = play(DONE, REFUND)
    const chat = createAgent(model).conversation('chat')
    await chat.send('One.')
    await chat.compact({ summarize: () => 'A summary.' })
    expect((await chat.send('Refund 1042.')).pending).toHaveLength(1)
    await chat.takeBack()
    expect(chat.pending).toEqual([])
    expect(JSON.stringify(chat.messages)).toContain('A summary.')
    await chat.takeBack(1)
    expect(chat.messages).toEqual([])
    await chat.send('Two.')
    expect(lastRequest(model)).not.toMatch(/One\.|summary|1042/)
    expect((await Conversation.trace(store, 'local', 'chat')).turns).toBe(1)
  })

  test('the store keeps what was taken back', async () => {
    const chat = createAgent(play()).conversation('chat')
    await chat.send('One.')
    await chat.takeBack()
    const rows = await store.read('local', 'chat')
    expect(rows.map(({ role, backTo }) => [role, backTo])).toEqual([
      ['system', undefined],
      ['user', undefined],
      ['assistant', undefined],
      ['system', 1],
    ])
  })

  test('branch() copies the conversation, and the copy goes its own way', async () => {
    const model = play(LOAD, DONE)
    const chat = createAgent(model).conversation('chat')
    await chat.send('May I?')
    const copy = await chat.branch('copy')
    rewrite('Use form TWO.')
    await copy.send('In the copy.')
    await chat.send('In the original.')
    expect(lastRequest(model)).not.toContain('In the copy.')
    expect(lastRequest(model)).toMatch(/you loaded refund/)
    await expect(chat.branch('copy')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'there is already a conversation "copy"; choose another id',
    })
  })

  test('branch() copies what another process has stored since the last turn', async () => {
    const chat = createAgent(play()).conversation('chat')
    await chat.send('Question one.')
    const other = await createSkillRuntime({ sources: [source] })
    const theirs = await new SkillAgent({ skills: other, model: play(), store }).open('chat')
    await theirs.takeBack()
    await theirs.send('Question two.')
    expect(await (await chat.branch()).questions()).toEqual(['Question two.'])
    await other.close()
  })

  test('open() while a turn is taken back does not bring it back', async () => {
    const started = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    class Slow extends MemoryConversationStore {
      override async append(...given: Parameters<MemoryConversationStore['append']>): Promise<number> {
        if (given[3].some(({ backTo }) => backTo !== undefined)) {
          started.resolve()
          await goOn.promise
        }
        return await super.append(...given)
      }
    }
    const agent = createAgent(play(), { store: new Slow() })
    const chat = agent.conversation('chat')
    await chat.send('One.')
    await chat.send('Two.')
    const taken = chat.takeBack()
    await started.promise
    const opened = agent.open('chat')
    goOn.resolve()
    await Promise.all([taken, opened])
    expect(JSON.stringify(chat.messages)).not.toContain('Two.')
  })

  test('open() reads the stored conversation, also if conversation() was called before', async () => {
    const first = createAgent(play()).conversation('chat')
    await first.send('Hello.')
    first.close()
    const agent = createAgent(play())
    agent.conversation('chat')
    expect((await agent.open('chat')).messages).toHaveLength(2)
  })

  test.each([
    '[The user stopped this answer.]',
    '<skills_update>Hello.</skills_update>',
    'Summary of the conversation so far:\nHello.',
    'The skills that you loaded earlier, at their newest revisions:\n\nHello.',
  ])('a question that begins like a message of the agent is a question: %s', async text => {
    const model = play()
    const chat = createAgent(model).conversation('chat')
    await chat.send('Question one.')
    await chat.send(text)
    expect(await chat.questions()).toEqual(['Question one.', `\n${text}`])
    await chat.send({ again: true })
    expect(lastRequest(model)).toContain(JSON.stringify(text).slice(1, -1))
    await chat.compact({ summarize: () => 'A summary.' })
    await chat.send(text)
    expect(await chat.questions()).toHaveLength(3)
    await chat.takeBack()
    expect(await chat.questions()).toHaveLength(2)
  })

  test.each([
    [
      'takeBack(2)',
      async (chat: Conversation) => await chat.takeBack(2),
      'has no turn 2; the number of its turns is 1',
    ],
    ['takeBack(0)', async (chat: Conversation) => await chat.takeBack(0), 'has no turn 0'],
  ])('%s is refused, and changes nothing', async (_, act, message) => {
    const chat = createAgent(play()).conversation('chat')
    await chat.send('One.')
    await expect(act(chat)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
    })
    expect(await store.read('local', 'chat')).toHaveLength(3)
  })
})

describe('a stopped answer', () => {
  test('keeps its text for the next turn, and a retry in another process drops only the text', async () => {
    const model = play(LOAD, { text: 'Half an answer' }, DONE, DONE)
    const chat = createAgent(model).conversation('chat')
    const stop = new AbortController()
    const turn = async (): Promise<void> => {
      for await (const event of chat.stream('The question.', { signal: stop.signal }))
        if (event.kind === 'text') stop.abort(new Error('stop'))
    }
    await expect(turn()).rejects.toThrow('stop')
    chat.close()
    const copy = await (await createAgent(model).open('chat')).branch('copy')
    await copy.send('The next question.')
    expect(lastRequest(model)).toMatch(/The question\..*Half an answer.*The user stopped this answer.*next/)
    const again = await createAgent(model).open('chat')
    expect(await again.questions()).toEqual(['The question.'])
    await again.send({ retry: true })
    const [, stopped, next, retried] = model.requests.map(request => ScriptedModel.toParts(request))
    expect(next?.slice(0, stopped?.length)).toEqual(stopped)
    expect(retried).toEqual(stopped)
  })

  test('keeps nothing of a turn that is stopped before its first word', async () => {
    const model = play(LOAD)
    const chat = createAgent(model).conversation('chat')
    const stop = new AbortController()
    const turn = async (): Promise<void> => {
      for await (const event of chat.stream('The question.', { signal: stop.signal }))
        if (event.kind === 'tool-call') stop.abort(new Error('stop'))
    }
    await expect(turn()).rejects.toThrow('stop')
    expect(chat.messages).toEqual([{ role: 'user', content: 'The question.' }])
  })
})
