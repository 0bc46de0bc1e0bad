import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { openConversationStore } from '@skillstoke/agent'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from './fixtures/skill-folder.ts'
import { EchoModel, TelegramChat, textOf } from './fixtures/telegram-chat.ts'
import { TelegramServer } from './fixtures/telegram-server.ts'

const REFUND = { name: 'refund', description: 'Refunds an order.', body: 'Use form ONE.' }

describe('a call that Telegram refuses', () => {
  test('is repeated after the time that Telegram demands', async () => {
    await using chat = await TelegramChat.open()
    chat.server.failNext('sendMessage', {
      ...{ error_code: 429, description: 'Too Many Requests: retry after 1' },
      parameters: { retry_after: 1 },
    })
    chat.server.send('Hello.')
    const accepted = await chat.server.take('sendMessage')
    expect(accepted.payload.text).toBe('Echo: Hello.')
    const [refused] = chat.server.refused
    // A timer of Node may fire one millisecond early.
    expect(accepted.at - (refused?.at ?? Infinity)).toBeGreaterThanOrEqual(999)
    expect(chat.faults).toEqual([])
  })

  test('is repeated if the network fails', async () => {
    await using chat = await TelegramChat.open()
    chat.server.failNext('sendMessage', 'hang up')
    chat.server.send('Hello.')
    expect(await chat.server.takeText()).toBe('Echo: Hello.')
  })

  test('is logged if it cannot succeed, and the bot goes on', async () => {
    await using chat = await TelegramChat.open()
    chat.server.failNext('sendMessage', {
      error_code: 403,
      description: 'Forbidden: bot was blocked by the user',
    })
    chat.server.failNext('sendChatAction', {
      error_code: 403,
      description: 'Forbidden: bot was blocked by the user',
    })
    chat.server.send('Hello.')
    chat.server.send('Hello again.')
    expect(await chat.server.takeText()).toBe('Echo: Hello again.')
    expect(chat.faults).toEqual([expect.stringMatching(/'sendMessage' failed! .*blocked/)])
  })
})

describe('close()', () => {
  test('waits for the running turn, and asks to send waiting messages again', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    const release = model.hold('one')
    chat.server.send('one')
    chat.server.send('two')
    await chat.server.take('sendChatAction')
    // The bot confirms both messages with its next poll, so they are not sent again after the restart.
    await expect.poll(() => chat.server.unconfirmed).toBe(0)
    const closed = chat.bot.close()
    release()
    await closed
    const sent = chat.server.calls.filter(({ method }) => method === 'sendMessage')
    expect(sent.map(({ payload }) => payload.text)).toEqual([
      'Echo: one',
      'The bot is about to restart. Send this message again in a minute.',
    ])
    expect(model.requests.map(textOf)).toEqual(['one'])
    await chat.bot.close()
  })

  test('leaves new messages to the next process, which continues the conversation', async () => {
    using folder = new TemporaryFolder()
    await using server = await TelegramServer.start()
    {
      await using store = await openConversationStore(folder.at('chats.sqlite'))
      await using first = await TelegramChat.open({ server, store })
      first.server.send('Hello.')
      expect(await server.takeText()).toBe('Echo: Hello.')
    }
    server.send('While the bot is down.')
    const model = new EchoModel()
    await using store = await openConversationStore(folder.at('chats.sqlite'))
    await using second = await TelegramChat.open({ server, store, model })
    expect(await server.takeText()).toBe('Echo: While the bot is down.')
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('Echo: Hello.')
    expect([second.faults, server.refused]).toEqual([[], []])
  })

  test('ends although Telegram does not confirm the updates', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model, graceMs: 500 })
    const release = model.hold('one')
    chat.server.send('one')
    await chat.server.take('sendChatAction')
    await expect.poll(() => chat.server.unconfirmed).toBe(0)
    chat.server.failNext('getUpdates', 'stall')
    const closed = chat.bot.close()
    release()
    expect(await chat.server.takeText()).toBe('Echo: one')
    await closed
    expect(chat.faults).toEqual([expect.stringContaining("'getUpdates' failed!")])
  })

  test('does not wait for a menu that Telegram delays', async () => {
    await using chat = await TelegramChat.open()
    await chat.server.take('setMyCommands')
    chat.server.failNext('setMyCommands', {
      ...{ error_code: 429, description: 'Too Many Requests: retry after 3600' },
      parameters: { retry_after: 3_600 },
    })
    chat.source.put(REFUND)
    await expect.poll(() => chat.server.refused.length).toBe(1)
    await chat.bot.close()
    expect(chat.faults).toEqual([])
  })

  test('aborts a turn that takes longer than the grace time', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model, graceMs: 100 })
    const release = model.hold('one')
    chat.server.send('one')
    await chat.server.take('sendChatAction')
    await chat.bot.close()
    release()
    expect(chat.server.calls.filter(({ method }) => method === 'sendMessage')).toEqual([])
  })
})

describe('the token', () => {
  test('is never logged, also if the network fails', async () => {
    await using chat = await TelegramChat.open({ graceMs: 0 })
    chat.server.failNext('sendMessage', 'stall')
    chat.server.send('Hello.')
    await chat.server.take('sendChatAction')
    await chat.bot.close()
    expect(chat.faults.length).toBeGreaterThan(0)
    expect(chat.faults.join('\n')).not.toContain(chat.server.token)
  })

  test('is not in the failure of a start that Telegram refuses', async () => {
    await using server = await TelegramServer.start()
    server.failNext('getMe', { error_code: 401, description: 'Unauthorized' })
    const failure: unknown = await TelegramChat.open({ server }).catch((error: unknown) => error)
    expect(String(failure)).toContain('Unauthorized')
    expect(inspect(failure)).not.toContain(server.token)
  })
})

test('Ctrl-C ends the program of the example, which prints neither the token nor a failure', async () => {
  using folder = new TemporaryFolder()
  await using server = await TelegramServer.start()
  const { token, apiRoot } = server
  const child = spawn(process.execPath, [resolve('examples/telegram-bot/main.ts')], {
    cwd: folder.path,
    env: { ...process.env, TELEGRAM_TOKEN: token, TELEGRAM_USER: '7', TELEGRAM_API_ROOT: apiRoot },
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  await server.take('setMyCommands')
  server.send('/start')
  expect(await server.takeText()).toContain('/skills lists the skills.')
  child.kill('SIGINT')
  await once(child, 'close')
  expect(await output).toEqual(['The bot runs. Press Ctrl-C to stop it.\n', ''])
  expect(child.exitCode).toBe(0)
  expect(server.unconfirmed).toBe(0)
})
