// The use case of RustFox as a Telegram bot: a user teaches the bot a skill in a chat, and the skill becomes a slash command.
// Run it with `npx node examples/telegram-bot/main.ts`. Without TELEGRAM_TOKEN, a local server stands in for Telegram, and the program checks what the user sees.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
import { connectTelegram } from '@skillstoke/agent/telegram'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { bundledSkills, directory, openState } from '@skillstoke/core/node'
import { Bot } from 'grammy'

interface BotSettings {
  readonly token: string
  /** The only user who may talk to the bot. */
  readonly user: number
  /** Contains the skills, the conversations and the state. */
  readonly folder: string
  readonly apiRoot: string
}

/** Runs the bot until the signal aborts. */
async function runBot(
  { token, user, folder, apiRoot }: BotSettings,
  signal: AbortSignal,
  onStart: (skills: SkillRuntime) => void,
): Promise<void> {
  await using skills = await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { writable: true }), bundledSkills()],
    state: await openState(join(folder, 'state')),
  })
  await using store = await openConversationStore(join(folder, 'state/conversations.sqlite'))
  // Any model of the AI SDK works here.
  await using agent = new SkillAgent({ skills, store, model: createOfflineModel(), writer: skills.writer() })
  const bot = new Bot(token, { client: { apiRoot } })
  await using chats = connectTelegram(bot, agent, {
    allow: userId => userId === user,
    logger: console,
    readFile: async ({ fileId }) => {
      const { file_path: path } = await bot.api.getFile(fileId)
      const response = await fetch(`${apiRoot}/file/bot${token}/${path}`)
      if (!response.ok) throw new Error(`Telegram answered ${response.status}`)
      return new Uint8Array(await response.arrayBuffer())
    },
  })
  signal.addEventListener('abort', () => void chats.close(), { once: true })
  await bot.start({ onStart: () => onStart(skills) })
}

/** Talks to the bot as a user does, and checks the answers. */
async function demonstrate(): Promise<void> {
  // A stand-in for Telegram, which the tests of this repository use too.
  const { TelegramServer } = await import('../../tests/fixtures/telegram-server.ts')
  await using telegram = await TelegramServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
  const stop = new AbortController()
  const started = Promise.withResolvers<SkillRuntime>()
  const { token, apiRoot } = telegram
  const running = runBot({ token, user: 7, folder, apiRoot }, stop.signal, started.resolve)
  const skills = await started.promise
  const ask = async (text: string): Promise<string> => {
    telegram.send(text)
    const answer = await telegram.takeText()
    console.log(`user: ${text}\nbot:  ${answer}`)
    return answer
  }

  await ask('/start')
  await ask('Create a skill called release-notes: Write one line for each change.')
  // The chat that wrote the skill may use it at once. All others see it when a person has approved it.
  assert.match(await ask('/release_notes v1.2'), /Write one line for each change/)
  await skills.review.approve('release-notes', { by: 'ada' })
  const { payload } = await telegram.take('setMyCommands', ({ commands = [] }) =>
    commands.some(({ command }) => command === 'release_notes'),
  )
  console.log('menu:', payload.commands?.map(({ command }) => `/${command}`).join(' '))

  // A person edits the skill. The same chat follows.
  const file = join(folder, 'skills/release-notes/SKILL.md')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('one line', 'two lines'))
  assert.match(await ask('/release-notes v1.3'), /Write two lines for each change/)

  assert.match(await ask('/reset'), /new conversation/)
  assert.match(await ask('/skills'), /\/release_notes - /)
  stop.abort()
  await running
  assert.deepEqual(telegram.refused, [])
  await rm(folder, { recursive: true })
}

const {
  TELEGRAM_TOKEN: token,
  TELEGRAM_USER: user,
  TELEGRAM_API_ROOT: apiRoot = 'https://api.telegram.org',
} = process.env
if (token === undefined) await demonstrate()
else {
  if (!/^\d+$/.test(user ?? ''))
    throw new Error(`TELEGRAM_USER is ${user}; use the number of a user of Telegram`)
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  const settings = { token, user: Number(user), folder: resolve('telegram-bot'), apiRoot }
  await runBot(settings, stop.signal, () => {
    console.log('The bot runs. Press Ctrl-C to stop it.')
  })
}
