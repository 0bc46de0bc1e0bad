import { createOfflineModel } from '@skillstoke/agent'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderAnswer } from '../examples/telegram-bot/render-answer.ts'
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

  test('gets no preview of a link, because Telegram would load its address', async () => {
    await using chat = await TelegramChat.open({ model: play({ text: 'See https://example.com/?data' }) })
    chat.server.send('Hello.')
    const { payload } = await chat.server.take('sendMessage')
    expect(payload.link_preview_options).toEqual({ is_disabled: true })
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
    expect(await chat.server.takeText()).toBe('I stopped at the limit of steps. Send /retry to continue.')
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toBe('Done.')
  })
})

describe('an update that is no text', () => {
  test('an edited message and a file get a short answer', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    chat.server.edit({ text: 'Hello!' })
    expect(await chat.server.takeText()).toBe('I can read new text messages only.')
    for (const content of [{ voice: { file_id: 'v' } }, { photo: [{ file_id: 'p' }], caption: 'Look.' }]) {
      chat.server.sendContent(content)
      expect(await chat.server.takeText()).toBe('I can read new text messages only.')
    }
    expect(model.requests).toEqual([])
  })

  test('a service message and other updates get no answer', async () => {
    await using chat = await TelegramChat.open()
    chat.server.sendContent({ new_chat_members: [] })
    chat.server.edit({ location: { latitude: 1, longitude: 1 } })
    chat.server.push({ poll: { id: '1' } })
    chat.server.send('Hello.')
    expect(await chat.server.takeText()).toBe('Echo: Hello.')
    expect([chat.faults, chat.server.refused]).toEqual([[], []])
  })
})

describe('a failed turn', () => {
  test('gets a short sentence, and /retry answers the message without repeating it', async () => {
    const model = failOnce()
    await using chat = await TelegramChat.open({ model })
    chat.server.send('Refund 1042.')
    expect(await chat.server.takeText()).toBe('I could not answer. Send /retry to try again.')
    expect(chat.faults).toEqual([expect.stringContaining('overloaded')])
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toBe('Done.')
    expect(JSON.stringify(model.requests.at(-1)?.prompt).split('Refund 1042.')).toHaveLength(2)
    chat.server.send('/retry')
    expect(await chat.server.takeText()).toContain('there is no unanswered message to retry')
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
    expect(await chat.server.takeText()).toMatch(/^another process answers .* try again in (60|59) s$/)
  })
})

describe('a user who is not allowed', () => {
  test('is refused in words in a private chat, and silently in a group', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model, users: [7] })
    chat.server.send('Let me in.', { chat: -100, user: 8 })
    chat.server.send('Let me in.', { chat: 8 })
    expect(await chat.server.takeText(8)).toBe('This bot is private. Your user id is 8.')
    chat.server.send('Hello.', { chat: -100, user: 7 })
    expect(await chat.server.takeText(-100)).toBe('Echo: Hello.')
    expect(model.requests.map(textOf)).toEqual(['Hello.'])
    expect(chat.server.calls.filter(({ method }) => method === 'sendMessage')).toHaveLength(2)
  })
})

/** Returns the text of each block of code, as Telegram shows it. */
const blocksOf = (answer: string): string[] =>
  renderAnswer(answer).flatMap(({ text, entities }) =>
    entities.map(({ offset, length }) => text.slice(offset, offset + length)),
  )

describe('renderAnswer()', () => {
  test('turns fenced blocks into blocks of code, and keeps the other text', () => {
    expect(renderAnswer('Use *this*:\n\n```ts\nlet a = 1\n\nlet b = 2\n```\nDone.')).toEqual([
      {
        text: 'Use *this*:\n\nlet a = 1\n\nlet b = 2\nDone.',
        entities: [{ type: 'pre', offset: 13, length: 20, language: 'ts' }],
      },
    ])
  })

  test('knows which lines begin and end a block', () => {
    expect(blocksOf('```\na\n```\n```\nb\n```')).toEqual(['a', 'b'])
    expect(blocksOf('````md\n```\nx\n```\n````')).toEqual(['```\nx\n```'])
    expect(blocksOf('~~~\n```\n~~~')).toEqual(['```'])
    expect(blocksOf('```a``` inline\ntext')).toEqual([])
    expect(blocksOf('See:\n```sh\nls\n')).toEqual(['ls'])
  })

  test('splits a long answer after a line, or else after a word, or else between characters', () => {
    const split = (text: string): string[] => renderAnswer(text).map(message => message.text)
    expect(split(`${'a'.repeat(4_000)}\n${'b'.repeat(96)}`)).toEqual(['a'.repeat(4_000), 'b'.repeat(96)])
    expect(split(`${'a'.repeat(4_000)} ${'b'.repeat(96)}`)).toEqual(['a'.repeat(4_000), 'b'.repeat(96)])
    expect(split(`a${'😀'.repeat(2_048)}`)).toEqual([`a${'😀'.repeat(2_047)}`, '😀'])
  })

  test('every message fits, and every block is inside its message and has visible text', () => {
    const line = fc.constantFrom(
      '```',
      '```ts',
      '',
      ' ',
      'a',
      '~~~',
      'bb cc',
      'x'.repeat(3_000),
      '😀'.repeat(2_100),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), lines => {
        const answer = lines.join('\n')
        const messages = renderAnswer(answer)
        for (const { text, entities } of messages) {
          expect(text.trim()).not.toBe('')
          expect(text.length).toBeLessThanOrEqual(4_096)
          expect(text.isWellFormed()).toBe(true)
          for (const { offset, length } of entities) {
            expect(offset + length).toBeLessThanOrEqual(text.length)
            expect(text.slice(offset, offset + length).trim()).not.toBe('')
          }
        }
        const letters = (text: string): string => text.replaceAll(/[^abcx😀]/gu, '')
        expect(letters(messages.map(({ text }) => text).join(''))).toBe(letters(answer))
      }),
    )
  })
})
