// The use case of RustFox as a Telegram bot: a user teaches the bot a skill in a chat, and the skill becomes a slash command.
// Run it with `npx node examples/telegram-bot/main.ts`. Without TELEGRAM_TOKEN, a local server stands in for Telegram, and the program checks what the user sees.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { bundledSkills, directory, openState } from '@skillstoke/core/node'
import { ChatBot, type ChatBotOptions } from './chat-bot.ts'

/** Runs a bot until it is closed. Keeps the skills, the conversations and the state in a folder. */
async function runBot(
  options: Omit<ChatBotOptions, 'agent' | 'log'>,
  folder: string,
  onStart: (bot: ChatBot, skills: SkillRuntime) => Promise<void> | void,
): Promise<void> {
  await using skills = await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { writable: true }), bundledSkills()],
    state: await openState(join(folder, 'state')),
  })
  await using store = await openConversationStore(join(folder, 'state/conversations.sqlite'))
  // Any model of the AI SDK works here.
  await using agent = new SkillAgent({ skills, store, model: createOfflineModel(), writer: skills.writer() })
  await using bot = await ChatBot.start({ ...options, agent, log: console.error })
  await onStart(bot, skills)
  await bot.stopped
}

/** Talks to the bot as a user does, and checks the answers. */
async function demonstrate(): Promise<void> {
  // A stand-in for Telegram, which the tests of this repository use too.
  const { TelegramServer } = await import('../../tests/fixtures/telegram-server.ts')
  await using telegram = await TelegramServer.start()
  const { token, apiRoot } = telegram
  const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
  const ask = async (text: string, expected: RegExp): Promise<void> => {
    telegram.send(text)
    const answer = await telegram.takeText()
    console.log(`user: ${text}\nbot:  ${answer}`)
    assert.match(answer, expected)
  }
  await runBot({ token, apiRoot, users: new Set([7]) }, folder, async (bot, skills) => {
    await ask('Create a skill called release-notes: Write one line for each change.', /release-notes/)
    // The chat that wrote the skill may use it at once. All others see it when a person has approved it.
    await ask('/release_notes v1.2', /Write one line for each change/)
    await skills.review.approve('release-notes', { by: 'ada' })
    // A person edits the skill. The same chat follows.
    const file = join(folder, 'skills/release-notes/SKILL.md')
    await writeFile(file, (await readFile(file, 'utf8')).replace('one line', 'two lines'))
    await ask('/release-notes v1.3', /Write two lines for each change/)
    await bot.close()
  })
  await rm(folder, { recursive: true })
}

const { TELEGRAM_TOKEN: token, TELEGRAM_USER: user, TELEGRAM_API_ROOT: apiRoot } = process.env
if (token === undefined) await demonstrate()
else
  await runBot({ token, apiRoot, users: new Set([Number(user)]) }, 'telegram-bot', bot => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void bot.close())
    console.log('The bot runs. Press Ctrl-C to stop it.')
  }).catch((error: unknown) => {
    // Prints only the message, because the object of a failed request contains the token.
    console.error(String(error))
    process.exitCode = 1
  })
