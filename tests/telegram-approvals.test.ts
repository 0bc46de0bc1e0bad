import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { MemoryConversationStore } from '@skillstoke/agent'
import { jsonSchema, type ToolSet, tool } from 'ai'
import { beforeEach, describe, expect, test } from 'vitest'
import { ScriptedModel } from './fixtures/scripted-model.ts'
import { type ChatOptions, play, TelegramChat } from './fixtures/telegram-chat.ts'
import { TelegramServer } from './fixtures/telegram-server.ts'

const REFUND = { tool: 'pay_back', input: { id: '1042' } }
const DONE = { text: 'Done.' }
const QUESTION = 'May I make this call?\n\npay_back\n{\n  "id": "1042"\n}'
const inputSchema = jsonSchema({ type: 'object', properties: { id: { type: 'string' } } })

let payments: unknown[]
beforeEach(() => {
  payments = []
})

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

async function open(model: LanguageModelV4, options: ChatOptions = {}): Promise<TelegramChat> {
  return await TelegramChat.open({ model, agent: { tools }, ...options })
}

/** Sends a message, and waits for the question. Returns the id of the message with the buttons. */
async function ask({ server }: TelegramChat, text = 'Refund 1042.'): Promise<number> {
  server.send(text)
  await server.take('sendMessage', ({ reply_markup: keyboard }) => keyboard !== undefined)
  return server.lastMessageId()
}

const labelsOf = ({ server }: TelegramChat, id: number): string[] | undefined =>
  server
    .keyboardOf(id)
    ?.inline_keyboard.flat()
    .map(({ text }) => text)
const toast = async ({ server }: TelegramChat): Promise<string | undefined> =>
  (await server.take('answerCallbackQuery')).payload.text

/** A model that calls a tool twice in its first answer. */
class TwoCallsModel extends ScriptedModel {
  constructor() {
    super(() => DONE)
  }

  override async doStream(
    options: LanguageModelV4CallOptions,
  ): Promise<Awaited<ReturnType<LanguageModelV4['doStream']>>> {
    const answer = await super.doStream(options)
    if (this.requests.length > 1) return answer
    const { usage } = await play(DONE).doGenerate(options)
    const calls = ['1', '2'].map(id => ({
      ...{ type: 'tool-call' as const, toolCallId: `call-${id}`, toolName: 'pay_back' },
      input: JSON.stringify({ id }),
    }))
    const finishReason = { unified: 'tool-calls' as const, raw: undefined }
    return {
      stream: ReadableStream.from([
        { type: 'stream-start' as const, warnings: [] },
        ...calls,
        { type: 'finish' as const, finishReason, usage },
      ]),
    }
  }
}

describe('a tool call that needs approval', () => {
  test('is shown with its input, and runs when a user presses Approve', async () => {
    await using chat = await open(play(REFUND))
    chat.server.send('Refund 1042.')
    const { payload } = await chat.server.take('sendMessage')
    expect(payload.text).toBe(QUESTION)
    expect(payments).toEqual([])
    const id = chat.server.lastMessageId()
    chat.server.press(id, 'Approve')
    expect(await toast(chat)).toBe('Approved.')
    expect(await chat.server.takeText()).toBe('Done.')
    expect(payments).toEqual([{ id: '1042' }])
    expect(labelsOf(chat, id)).toBeUndefined()
    expect([chat.faults, chat.server.refused]).toEqual([[], []])
  })

  test('does not run when a user presses Decline', async () => {
    const model = play(REFUND)
    await using chat = await open(model)
    const id = await ask(chat)
    chat.server.press(id, 'Decline')
    expect(await toast(chat)).toBe('Declined.')
    expect(await chat.server.takeText()).toBe('Done.')
    expect([payments, labelsOf(chat, id)]).toEqual([[], undefined])
  })

  test('runs once if a user presses the button twice', async () => {
    await using chat = await open(play(REFUND))
    const id = await ask(chat)
    const keyboard = chat.server.keyboardOf(id)
    for (let press = 0; press < 2; press++) chat.server.press(id, 'Approve', {}, keyboard)
    const toasts = [await toast(chat), await toast(chat)]
    expect(toasts[0]).toBe('Approved.')
    expect(toasts[1]).toMatch(/^This question is closed/)
    expect(await chat.server.takeText()).toBe('Done.')
    expect(payments).toHaveLength(1)
  })

  test('waits across a restart', async () => {
    await using server = await TelegramServer.start()
    const store = new MemoryConversationStore()
    {
      await using first = await open(play(REFUND), { server, store })
      await ask(first)
    }
    await using second = await open(play(), { server, store })
    server.press(server.lastMessageId(), 'Approve')
    expect(await server.takeText()).toBe('Done.')
    expect(payments).toEqual([{ id: '1042' }])
    expect(second.faults).toEqual([])
  })

  test('is declined by a new message, and its old buttons say that it is closed', async () => {
    await using chat = await open(play(REFUND))
    const id = await ask(chat)
    const keyboard = chat.server.keyboardOf(id)
    chat.server.send('Stop.')
    expect(await chat.server.takeText()).toBe('Done.')
    chat.server.press(id, 'Approve', {}, keyboard)
    expect(await toast(chat)).toBe('This question is closed.')
    await chat.server.take('editMessageReplyMarkup')
    expect([payments, labelsOf(chat, id)]).toEqual([[], undefined])
  })

  test('is not approved by an old button, although the model uses the id of the call again', async () => {
    await using server = await TelegramServer.start()
    const store = new MemoryConversationStore()
    {
      await using first = await open(play(REFUND), { server, store })
      await ask(first)
    }
    const old = server.lastMessageId()
    // The scripted model counts its calls, as some servers do, so both calls have the id "call-1".
    await using second = await open(play(REFUND), { server, store })
    const current = await ask(second)
    const { pending, messages } = await second.agent.open('telegram-7')
    expect(JSON.stringify(messages).split('"tool-approval-request"')).toHaveLength(3)
    expect(pending).toMatchObject([{ callId: 'call-1' }])
    server.press(old, 'Approve')
    expect(await toast(second)).toBe('This question is closed.')
    expect([payments, labelsOf(second, current)]).toEqual([[], ['Approve', 'Decline']])
  })

  test('is asked again by /retry', async () => {
    await using chat = await open(play(REFUND))
    const first = await ask(chat)
    const second = await ask(chat, '/retry')
    expect(second).toBeGreaterThan(first)
    chat.server.press(second, 'Approve')
    expect(await chat.server.take('sendMessage', ({ text }) => text === 'Done.')).toBeDefined()
    expect(payments).toHaveLength(1)
  })

  test('cannot be decided by a user who is not allowed', async () => {
    await using chat = await open(play(REFUND), { users: [7] })
    chat.server.send('Refund 1042.', { chat: -100, user: 7 })
    await chat.server.takeText(-100)
    const id = chat.server.lastMessageId(-100)
    chat.server.press(id, 'Approve', { chat: -100, user: 8 })
    expect(await toast(chat)).toBe('This bot is private. Your user id is 8.')
    expect(payments).toEqual([])
    chat.server.press(id, 'Approve', { chat: -100, user: 7 })
    expect(await chat.server.takeText(-100)).toBe('Done.')
  })

  test('is asked in its topic, and its answer appears there', async () => {
    await using chat = await open(play(REFUND))
    const origin = { chat: -100, user: 7, thread: 11 }
    chat.server.send('Refund 1042.', origin)
    expect((await chat.server.take('sendMessage')).payload.message_thread_id).toBe(11)
    chat.server.press(chat.server.lastMessageId(-100), 'Approve', origin)
    expect((await chat.server.take('sendMessage')).payload).toMatchObject({
      message_thread_id: 11,
      text: 'Done.',
    })
  })
})

describe('two tool calls in one answer', () => {
  test('are asked one after the other, and run when both are decided', async () => {
    await using chat = await open(new TwoCallsModel())
    const first = await ask(chat)
    chat.server.press(first, 'Decline')
    expect(await toast(chat)).toBe('Declined.')
    const { payload } = await chat.server.take('sendMessage', ({ text }) => text?.includes('"2"') === true)
    expect(payload.reply_markup).toBeDefined()
    expect(payments).toEqual([])
    chat.server.press(chat.server.lastMessageId(), 'Approve')
    expect(await chat.server.take('sendMessage', ({ text }) => text === 'Done.')).toBeDefined()
    expect(payments).toEqual([{ id: '2' }])
  })

  test('are both asked again if a restart lost the first decision, so none runs without one', async () => {
    await using server = await TelegramServer.start()
    const store = new MemoryConversationStore()
    {
      await using first = await open(new TwoCallsModel(), { server, store })
      server.press(await ask(first), 'Approve')
      await server.take('sendMessage', ({ text }) => text?.includes('"2"') === true)
    }
    await using second = await open(play(), { server, store })
    server.press(server.lastMessageId(), 'Decline')
    await server.take('sendMessage', ({ text }) => text?.includes('"1"') === true)
    expect(payments).toEqual([])
    server.press(server.lastMessageId(), 'Approve')
    expect(await server.take('sendMessage', ({ text }) => text === 'Done.')).toBeDefined()
    expect([payments, second.faults]).toEqual([[{ id: '1' }], []])
  })
})

describe('a tool without execute', () => {
  test('gets an error as its result, if another call of the answer is approved', async () => {
    const model = play({ calls: [REFUND, { tool: 'ask_browser', input: { id: '1' } }] })
    await using chat = await open(model)
    chat.server.press(await ask(chat), 'Approve')
    expect(await chat.server.take('sendMessage', ({ text }) => text === 'Done.')).toBeDefined()
    expect(payments).toHaveLength(1)
    expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('Telegram cannot run this tool.')
  })

  test('gets no result, and the next message continues the conversation', async () => {
    const model = play({ tool: 'ask_browser', input: { id: '1' } })
    await using chat = await open(model)
    chat.server.send('What does the page say?')
    expect(await chat.server.takeText()).toBe('The answer is empty. Send another message.')
    chat.server.send('Never mind.')
    expect(await chat.server.takeText()).toBe('Done.')
  })
})
