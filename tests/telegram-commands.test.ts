import { createOfflineModel, openConversationStore } from '@skillstoke/agent'
import { createSkillRuntime, type MemorySkill, MemorySource, type Skill } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import { toCommands, toInput } from '../examples/telegram-bot/skill-commands.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'
import type { ApiCall } from './fixtures/telegram-api.ts'
import { EchoModel, TelegramChat, textOf } from './fixtures/telegram-chat.ts'
import { TelegramServer } from './fixtures/telegram-server.ts'

const NOTES = { name: 'release-notes', description: 'Writes release notes.', body: 'Write about $ARGUMENTS.' }
const INNER = { name: 'inner', description: 'Not for users.', fields: { 'user-invocable': false } }

const UNKNOWN = 'There is no such command. /skills lists the skills.'

const commandsOf = ({ payload }: ApiCall): string[] => (payload.commands ?? []).map(({ command }) => command)

describe('the menu of commands', () => {
  test('lists the skills at the start, and follows them with one call for each burst of changes', async () => {
    await using chat = await TelegramChat.open({ skills: [NOTES, INNER] })
    expect((await chat.server.take('setMyCommands')).payload.commands).toEqual([
      { command: 'skills', description: 'List the skills' },
      { command: 'reset', description: 'Start a new conversation' },
      { command: 'retry', description: 'Try the last message again' },
      { command: 'release_notes', description: 'Writes release notes.' },
    ])
    for (const name of ['maps', 'mail', 'pdf-tools']) {
      chat.source.put({ name, description: `Helps with ${name}.` })
      await chat.skills.fresh()
      await chat.skills.delivered()
    }
    chat.source.remove('release-notes')
    const changed = await chat.server.take('setMyCommands')
    expect(commandsOf(changed)).toEqual(['skills', 'reset', 'retry', 'mail', 'maps', 'pdf_tools'])
    expect(chat.server.calls.filter(({ method }) => method === 'setMyCommands')).toHaveLength(2)
  })

  test('stays as it is if a change of a skill does not change it', async () => {
    await using chat = await TelegramChat.open({ skills: [NOTES] })
    await chat.server.take('setMyCommands')
    chat.source.put({ ...NOTES, body: 'Other instructions.' })
    await chat.skills.fresh()
    chat.source.put({ name: 'maps', description: 'Finds routes.' })
    expect(commandsOf(await chat.server.take('setMyCommands'))).toContain('maps')
    expect(chat.server.calls.filter(({ method }) => method === 'setMyCommands')).toHaveLength(2)
  })

  test('contains only skills in the scope of the agent', async () => {
    await using chat = await TelegramChat.open({
      skills: [NOTES, { name: 'maps', description: 'Finds routes.' }],
      agent: { scope: { exclude: ['maps'] } },
    })
    const menu = commandsOf(await chat.server.take('setMyCommands'))
    expect(menu).toEqual(['skills', 'reset', 'retry', 'release_notes'])
  })

  test('has at most 100 commands', async () => {
    const skills = Array.from({ length: 120 }, (_, index) => ({
      name: `skill-${index}`,
      description: 'Helps.',
    }))
    await using chat = await TelegramChat.open({ skills })
    expect(commandsOf(await chat.server.take('setMyCommands'))).toHaveLength(100)
    expect(chat.server.refused).toEqual([])
  })

  test('has short descriptions, because Telegram limits its total length', async () => {
    const long = { ...NOTES, description: `First\nline. ${'x'.repeat(300)}` }
    await using chat = await TelegramChat.open({ skills: [long] })
    const { payload } = await chat.server.take('setMyCommands')
    expect(payload.commands?.at(-1)?.description).toBe(`First line. ${'x'.repeat(51)}…`)
  })

  test('is logged if Telegram refuses it, and messages still work', async () => {
    await using server = await TelegramServer.start()
    server.failNext('setMyCommands', { error_code: 400, description: 'Bad Request: BOT_COMMAND_INVALID' })
    await using chat = await TelegramChat.open({ server })
    server.send('Hello.')
    expect(await server.takeText()).toBe('Echo: Hello.')
    expect(chat.faults).toEqual([expect.stringMatching(/'setMyCommands' failed! .*INVALID/)])
  })
})

describe('a slash command', () => {
  test.each(['/release_notes v1.2', '/release-notes v1.2', '/release_notes@stoke_bot v1.2'])(
    '%s invokes the skill',
    async message => {
      const model = new EchoModel()
      await using chat = await TelegramChat.open({ model, skills: [NOTES] })
      chat.server.send(message)
      await chat.server.takeText()
      expect(textOf(model.requests[0])).toBe(
        'v1.2\n\n<skill name="release-notes">\nWrite about v1.2.\n</skill>',
      )
    },
  )

  test('works for a skill that was saved a moment ago', async () => {
    await using chat = await TelegramChat.open({ model: createOfflineModel() })
    chat.source.put({ name: 'pdf-tools', description: 'Makes PDF files.', body: 'Print it.' })
    chat.server.send('/pdf_tools')
    expect(await chat.server.takeText()).toContain('Print it.')
  })

  test('with an unknown name gets a short answer, also if the skill is not for users', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model, skills: [INNER] })
    for (const name of ['release', 'inner']) {
      chat.server.send(`/${name} v1.2`)
      expect(await chat.server.takeText()).toBe(UNKNOWN)
    }
    chat.server.send('/etc/hosts is empty')
    expect(await chat.server.takeText()).toBe('Echo: /etc/hosts is empty')
    expect(model.requests).toHaveLength(1)
  })

  test('of another bot gets no answer', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    chat.server.send('/skills@other_bot', { chat: -100, user: 7 })
    chat.server.send('Hello.', { chat: -100, user: 7 })
    expect(await chat.server.takeText(-100)).toBe('Echo: Hello.')
    expect(model.requests).toHaveLength(1)
  })

  test('/start and /skills explain what the bot can do', async () => {
    await using chat = await TelegramChat.open({ skills: [NOTES, INNER] })
    chat.server.send('/start')
    expect(await chat.server.takeText()).toContain('/skills lists the skills.')
    chat.source.put({ name: 'maps', description: 'Finds routes.' })
    chat.server.send('/skills')
    expect(await chat.server.takeText()).toBe('/maps - Finds routes.\n/release_notes - Writes release notes.')
  })

  test('/skills lists more skills than fit in one message', async () => {
    const skills = Array.from({ length: 120 }, (_, index) => ({
      name: `skill-${index}`,
      description: 'Helps. '.repeat(10),
    }))
    await using chat = await TelegramChat.open({ skills })
    chat.server.send('/skills')
    const lines: string[] = []
    while (lines.length < 120) lines.push(...(await chat.server.takeText()).split('\n'))
    expect(new Set(lines).size).toBe(120)
    for (const { name } of skills) chat.source.remove(name)
    chat.server.send('/skills')
    expect(await chat.server.takeText()).toBe('There are no skills.')
  })
})

describe('/reset', () => {
  test('starts a new conversation and keeps the old one, also across a restart', async () => {
    using folder = new TemporaryFolder()
    await using server = await TelegramServer.start()
    {
      await using store = await openConversationStore(folder.at('chats.sqlite'))
      await using first = await TelegramChat.open({ server, store, skills: [NOTES] })
      first.server.send('/release_notes v1.2')
      await server.takeText()
      server.send('/reset')
      expect(await server.takeText()).toContain('This is a new conversation.')
    }
    await using store = await openConversationStore(folder.at('chats.sqlite'))
    const model = new EchoModel()
    await using second = await TelegramChat.open({ server, store, model, skills: [NOTES] })
    server.send('Hello.')
    expect(await server.takeText()).toBe('Echo: Hello.')
    expect(JSON.stringify(model.requests)).not.toContain('v1.2')
    const [current, kept] = await store.list('local')
    expect([current?.id, kept?.id]).toEqual([
      'telegram-7',
      expect.stringMatching(/^telegram-7-until-20\d\d-/),
    ])
    const old = await second.agent.open(kept?.id ?? '')
    expect(JSON.stringify(old.messages)).toContain('v1.2')
    expect(old.session.ledger.find('release-notes')).toBeDefined()
  })

  test('forgets the skills that the old conversation loaded', async () => {
    await using chat = await TelegramChat.open({ skills: [NOTES] })
    chat.server.send('/release_notes v1.2')
    await chat.server.takeText()
    chat.server.send('/reset')
    await chat.server.takeText()
    const { messages, session } = await chat.agent.open('telegram-7')
    expect([messages, session.ledger.entries()]).toEqual([[], []])
  })

  test('waits for the running turn', async () => {
    const model = new EchoModel()
    await using chat = await TelegramChat.open({ model })
    const release = model.hold('one')
    chat.server.send('one')
    chat.server.send('/reset')
    await chat.server.take('sendChatAction')
    release()
    expect(await chat.server.takeText()).toBe('Echo: one')
    expect(await chat.server.takeText()).toContain('This is a new conversation.')
    const [kept] = await chat.store.list('local')
    expect(kept?.seq).toBe(3)
  })

  test('keeps nothing of an empty conversation', async () => {
    await using chat = await TelegramChat.open()
    chat.server.send('/reset')
    expect(await chat.server.takeText()).toContain('This is a new conversation.')
    expect(await chat.store.list('local')).toEqual([])
  })
})

const SKILLS: readonly MemorySkill[] = [
  { name: 'release-notes', description: 'Writes release notes.' },
  { name: 'release_notes', description: 'Has the name of the command.' },
  { name: 'greet people', description: 'Greets people.' },
  { name: 'greet', description: 'Greets.' },
  { name: 'reset', description: 'Has the name of a command of the bot.' },
  { name: 'über', description: 'Beyond ASCII.' },
  { name: 'PDF  Tools', description: 'Has capital letters.' },
  { name: '日本', description: 'Has no letter that Telegram accepts.' },
  { name: 'x'.repeat(40), description: 'Has a long name.' },
]

async function read(skills: readonly MemorySkill[]): Promise<readonly Skill[]> {
  await using runtime = await createSkillRuntime({ sources: [new MemorySource({ label: 'mine' }, skills)] })
  return runtime.current.list()
}

test('toCommands() gives skills commands that Telegram accepts, and prefers exact names', async () => {
  const commands = [...toCommands(await read(SKILLS))].map(([command, { name }]) => [command, name])
  expect(Object.fromEntries(commands)).toEqual({
    greet: 'greet',
    greet_people: 'greet people',
    release_notes: 'release_notes',
    uber: 'über',
    pdf_tools: 'PDF  Tools',
    skill: '日本',
    ['x'.repeat(32)]: 'x'.repeat(40),
  })
})

test.each([
  ['/release-notes v1.2', '/release-notes v1.2'],
  ['/release_notes v1.2', '/release_notes v1.2'],
  ['/release-notes@stoke_bot v1\nv2', '/release-notes v1\nv2'],
  ['/Greet_People@Stoke_Bot now', '/greet people now'],
  ['/greet people now', '/greet people now'],
  ['/greet all', '/greet all'],
  ['/greetings all', undefined],
  ['/uber x', '/über x'],
  ['/unknown', undefined],
  ['/etc/hosts is empty', '/etc/hosts is empty'],
  ['/orders.find {}', '/orders.find {}'],
  ['/ greet', '/ greet'],
  ['greet', 'greet'],
])('toInput(%j) returns %j', async (message, expected) => {
  expect(toInput(message, await read(SKILLS))).toBe(expected)
})
