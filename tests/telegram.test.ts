import { createOfflineModel } from '@skillstoke/agent'
import { connectTelegram, type TelegramOptions } from '@skillstoke/agent/telegram'
import { Bot } from 'grammy'
import { describe, expect, test } from 'vitest'
import { ScriptedModel } from './fixtures/scripted-model.ts'
import { EchoModel, play, TelegramChat, textOf } from './fixtures/telegram-chat.ts'

const REFUND = { name: 'refund', description: 'Refunds an order.', body: 'Use form ONE.' }

/** Fails once, and then gives the answer "Done.". */
function failOnce(): ScriptedModel {
  return new ScriptedModel(call => {
    if (call === 1) throw new Error('overloaded')
    return { text: 'Done.' }
  })
}

describe('a message in a chat', () => {
  test('is a turn of the conversation of the chat, in the same store as any other conversation', async () => {
    await using chat = await TelegramChat.open()
    chat.server.send('Hello.')
    expect(await chat.server.takeText()).toBe('Echo: Hello.')
    chat.server.send('Again.')
    expect(await chat.server.takeText()).toBe('Echo: Again.')
    const stored = await chat.store.read('local', 'telegram-7')
    expect(stored.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant'])
    expect(chat.agent.conversation('telegram-7').messages).toHaveLength(4)
    expect([chat.faults, chat.server.refused]).toEqual([[], []])
  })

  test('uses a skill that was edited since the last message', async () => {
    await using chat = await TelegramChat.open({ model: createOfflineModel(), skills: [REFUND] })
    chat.server.send('How do I refund an order?')
    expect(await chat.server.takeText()).toContain('Use form ONE.')
    chat.source.put({ ...REFUND, body: 'Use form TWO.' })
    chat.server.send('How do I refund an order?')
    expect(await chat.server.takeText()).toContain('Use form TWO.')
  })

  test('shows that the bot is typing until the answer is complete', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    const release = model.hold('Hello.')
    chat.server.send('Hello.')
    await chat.server.take('sendChatAction')
    // Telegram shows the action for five seconds, so it is repeated.
    await chat.server.take('sendChatAction', ({ chat_id: id }) => id === 7)
    expect(chat.server.calls.filter(({ method }) => method === 'sendMessage')).toEqual([])
    release()
    expect(await chat.server.takeText()).toBe('Echo: Hello.')
    const { calls } = chat.server
    expect(calls.findLastIndex(({ method }) => method === 'sendChatAction')).toBeLessThan(calls.length - 1)
  })

  test('waits for the turn before it, but not for other chats', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    const release = model.hold('one')
    chat.server.send('one')
    chat.server.send('two')
    chat.server.send('other', { chat: 8 })
    expect(await chat.server.takeText(8)).toBe('Echo: other')
    expect(model.requests.map(textOf)).toEqual(['other'])
    release()
    expect([await chat.server.takeText(), await chat.server.takeText()]).toEqual(['Echo: one', 'Echo: two'])
    expect(model.requests.map(textOf)).toEqual(['other', 'one', 'two'])
  })

  test('belongs to the conversation of its topic, and is answered there', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    for (const thread of [11, 12]) chat.server.send(`topic ${thread}`, { chat: -100, user: 7, thread })
    const answers = [await chat.server.take('sendMessage'), await chat.server.take('sendMessage')]
    const shown = answers.map(({ payload }) => `${payload.message_thread_id}: ${payload.text}`)
    expect(shown.sort()).toEqual(['11: Echo: topic 11', '12: Echo: topic 12'])
    const typing = chat.server.calls.filter(({ method }) => method === 'sendChatAction')
    expect(new Set(typing.map(({ payload }) => payload.message_thread_id))).toEqual(new Set([11, 12]))
    const ids = (await chat.store.list('local')).map(({ id }) => id)
    expect(ids).toEqual(['telegram--100-11', 'telegram--100-12'])
  })

  test('gets a long answer in several messages, and code as blocks of code', async () => {
    const code = Array.from({ length: 400 }, (_, index) => `print("line ${index} 😀")`).join('\n')
    await using chat = await TelegramChat.open({ model: play({ text: `Run:\n\`\`\`py\n${code}\n\`\`\`` }) })
    chat.server.send('Write code.')
    const shown: string[] = []
    while (shown.join('\n').length < code.length) {
      const { payload } = await chat.server.take('sendMessage')
      for (const { type, language, offset, length } of payload.entities ?? []) {
        expect([type, language]).toEqual(['pre', 'py'])
        shown.push((payload.text ?? '').slice(offset, offset + length))
      }
    }
    expect(shown.length).toBeGreaterThan(1)
    expect(shown.join('\n')).toBe(code)
    expect(chat.server.refused).toEqual([])
  })

  test('gets a sentence if the model gives no text', async () => {
    await using chat = await TelegramChat.open({ model: play({ text: ' ' }) })
    chat.server.send('Hello.')
    expect(await chat.server.takeText()).toBe('The answer is empty. Send another message.')
  })

  test('gets a sentence if the model reaches the limit of steps, and /retry continues', async () => {
    const load = { tool: 'skill', input: { name: 'refund' } }
    await using chat = await TelegramChat.open({
      model: play(load),
      skills: [REFUND],
      agent: { maxSteps: 1 },
    })
    chat.server.send('Refund.')
    expect(await chat.server.takeText()).toBe('I stopped after 1 step. Send /retry to continue.')
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toBe('Done.')
  })
})

describe('an update that is no text', () => {
  test('an edited message and unsupported content get a short answer', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    chat.server.edit({ text: 'Hello!' })
    expect(await chat.server.takeText()).toContain('I cannot read edited messages.')
    const id = chat.server.sendContent({ voice: { file_id: 'v', duration: 1 } })
    const { payload } = await chat.server.take('sendMessage')
    expect(payload.text).toBe('I can read text only.')
    expect(payload.reply_parameters?.message_id).toBe(id)
    chat.server.sendContent({ photo: [{ file_id: 'p' }], caption: 'What is this?' })
    expect(await chat.server.takeText()).toBe('I can read text only.')
    expect(model.requests).toEqual([])
  })

  test('service messages and other updates go to the other handlers of the bot', async () => {
    const seen: string[] = []
    await using chat = await TelegramChat.open({
      prepare: bot => bot.use(({ update }) => void seen.push(Object.keys(update)[1] ?? '')),
    })
    chat.server.sendContent({ new_chat_members: [] }, { chat: -100, user: 7 })
    chat.server.edit({ location: { latitude: 1, longitude: 1 } })
    chat.server.push({ poll: { id: '1' } })
    chat.server.push({
      callback_query: {
        id: '1',
        from: { id: 7 },
        data: 'menu:1',
        message: { chat: { id: 7 }, message_id: 1 },
      },
    })
    chat.server.send('Hello.')
    await chat.server.takeText()
    expect(seen).toEqual(['message', 'edited_message', 'poll', 'callback_query'])
  })
})

describe('a failed turn', () => {
  test('gets a short sentence, and /retry answers the message without repeating it', async () => {
    const model = failOnce()
    await using chat = await TelegramChat.open({ model })
    chat.server.send('Refund 1042.')
    expect(await chat.server.takeText()).toBe('I could not answer. Send /retry to try again.')
    expect(chat.faults).toEqual([expect.stringMatching(/^a message has no answer: .*overloaded/)])
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toBe('Done.')
    expect(JSON.stringify(model.requests.at(-1)?.prompt).split('Refund 1042.')).toHaveLength(2)
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toBe('Every message has an answer, so there is nothing to retry.')
  })

  test('keeps the conversation, so the next message works', async () => {
    const model = failOnce()
    await using chat = await TelegramChat.open({ model })
    chat.server.send('First.')
    await chat.server.takeText()
    chat.server.send('Second.')
    expect(await chat.server.takeText()).toBe('Done.')
    expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('First.')
  })

  test('says how long another process holds the conversation', async () => {
    await using chat = await TelegramChat.open()
    await chat.store.claim('local', 'telegram-7', { holder: 'other', expectSeq: 0, leaseMs: 60_000 })
    chat.server.send('Hello.')
    expect(await chat.server.takeText()).toMatch(
      /^Another process answers .* Try again in (60|59) seconds\.$/,
    )
  })
})

describe('the option `allow`', () => {
  test.each([
    [undefined, 'allow is undefined; use a function that receives a user id, or "everyone"'],
    ['all', 'allow is "all"; use a function'],
    [true, 'allow is true; use a function'],
  ])('refuses %j', async (allow, message) => {
    await using chat = await TelegramChat.open()
    const options = { allow } as unknown as TelegramOptions
    expect(() => connectTelegram(new Bot(chat.server.token), chat.agent, options)).toThrow(message)
  })

  test('refuses a stranger in words in a private chat, and silently in a group', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model, telegram: { allow: id => id === 7 } })
    chat.server.send('Let me in.', { chat: -100, user: 8 })
    chat.server.send('Let me in.', { chat: 8 })
    expect(await chat.server.takeText(8)).toBe('This bot is private. Your user id is 8.')
    chat.server.send('Hello.', { chat: -100, user: 7 })
    expect(await chat.server.takeText(-100)).toBe('Echo: Hello.')
    expect(model.requests.map(textOf)).toEqual(['Hello.'])
    expect(chat.server.calls.filter(({ method }) => method === 'sendMessage')).toHaveLength(2)
  })

  test('refuses everyone if the function returns a promise or throws', async () => {
    const model = new EchoModel()
    const answers = [
      () => Promise.resolve(true) as unknown as boolean,
      () => {
        throw new Error('no database')
      },
    ]
    const allow = (): boolean => answers.shift()?.() ?? false
    await using chat = await TelegramChat.open({ model, telegram: { allow } })
    for (const text of ['one', 'two']) chat.server.send(text)
    for (let each = 0; each < 2; each++)
      expect(await chat.server.takeText()).toContain('This bot is private.')
    expect(model.requests).toEqual([])
    expect(chat.faults).toEqual([
      expect.stringContaining('allow returned no boolean'),
      expect.stringContaining('no database'),
    ])
  })
})

test('connectTelegram() refuses misspelt options and invalid values', async () => {
  await using chat = await TelegramChat.open()
  const connect = (options: object): unknown =>
    connectTelegram(new Bot(chat.server.token), chat.agent, { allow: 'everyone', ...options })
  expect(() => connect({ readfile: undefined })).toThrow('did you mean "readFile"?')
  expect(() => connect({ maxFileBytes: 0 })).toThrow('maxFileBytes is 0; use a whole number from 1 on')
  expect(() => connect({ commands: [{ command: 'Help', description: 'Help' }] })).toThrow(
    '"Help" is not valid',
  )
  expect(() => connect({ commands: [{ command: 'help', description: '' }] })).toThrow('has 0 characters')
})
