import { createSkillRuntime, type MemorySkill, MemorySource, type Skill } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import {
  isForOther,
  listInvocable,
  readCommand,
  toCommandName,
  toDescription,
  toMenu,
} from './chat-command.ts'

const SKILLS: readonly MemorySkill[] = [
  { name: 'release-notes', description: 'Writes release notes.' },
  { name: 'release_notes', description: 'Has the name of the command.' },
  { name: 'greet people', description: 'Greets people.' },
  { name: 'greet', description: 'Greets.' },
  { name: 'reset', description: 'Has the name of a command of the bot.' },
  { name: 'über', description: 'Beyond ASCII.' },
  { name: 'inner', description: 'Not for users.', fields: { 'user-invocable': false } },
  { name: 'inner part', description: 'Not for users.', fields: { 'user-invocable': false } },
]

async function read(skills: readonly MemorySkill[] = SKILLS): Promise<readonly Skill[]> {
  await using runtime = await createSkillRuntime({ sources: [new MemorySource({ label: 'mine' }, skills)] })
  return runtime.current.list()
}

test.each([
  ['release-notes', 'release_notes'],
  ['PDF Tools', 'pdf_tools'],
  ['über', 'uber'],
  ['a--b__c', 'a_b_c'],
  ['-a-', 'a'],
  ['日本', 'skill'],
  [`${'a'.repeat(31)}-b`, 'a'.repeat(31)],
  ['x'.repeat(40), 'x'.repeat(32)],
])('toCommandName(%j) returns %j', (name, command) => {
  expect(toCommandName(name)).toBe(command)
})

describe('listInvocable()', () => {
  test('gives each skill a different command, and leaves out skills that users may not invoke', async () => {
    const commands = listInvocable(await read()).map(({ skill, command }) => [skill.name, command])
    expect(Object.fromEntries(commands)).toEqual({
      greet: 'greet',
      'greet people': 'greet_people',
      'release-notes': 'release_notes_2',
      release_notes: 'release_notes',
      reset: 'reset_2',
      über: 'uber',
    })
  })

  test('numbers long names within the limit', async () => {
    const long = 'x'.repeat(40)
    const skills = await read(['a', 'b', 'c'].map(end => ({ name: long + end, description: 'Long name.' })))
    const commands = listInvocable(skills).map(({ command }) => command)
    expect(commands).toEqual(['x'.repeat(32), `${'x'.repeat(30)}_2`, `${'x'.repeat(30)}_3`])
  })

  test('leaves out skills whose names the host reserves', async () => {
    const commands = listInvocable(await read(), ['greet', 'uber']).map(({ command }) => command)
    expect(commands).toEqual(['greet_people', 'release_notes_2', 'release_notes', 'reset_2', 'uber_2'])
  })
})

describe('toMenu()', () => {
  test('lists the commands of the host, of the bot and of the skills, and at most 100', async () => {
    const skills = await read(
      Array.from({ length: 120 }, (_, index) => ({ name: `skill-${index}`, description: 'Helps.' })),
    )
    const host = [
      { command: 'help', description: 'Show help' },
      { command: 'retry', description: 'Own retry' },
    ]
    const menu = toMenu(listInvocable(skills), host)
    expect(menu).toHaveLength(100)
    expect(menu.slice(0, 5).map(({ command }) => command)).toEqual([
      'help',
      'retry',
      'skills',
      'reset',
      'skill_0',
    ])
  })

  test('cuts descriptions to one line of the given length', async () => {
    const [short, cut, pair] = await read([
      { name: 'a', description: 'x' },
      { name: 'b', description: `First\nline. ${'y'.repeat(300)}` },
      { name: 'c', description: `${'z'.repeat(254)}😀😀` },
    ])
    expect(short && toDescription(short, 256)).toBe('Skill a')
    expect(cut && toDescription(cut, 256)).toBe(`First line. ${'y'.repeat(243)}…`)
    expect(pair && toDescription(pair, 256)).toBe(`${'z'.repeat(254)}…`)
  })
})

describe('readCommand()', () => {
  test.each([
    ['/release-notes v1.2', { kind: 'skill', text: '/release-notes v1.2' }],
    ['/release_notes_2 v1.2', { kind: 'skill', text: '/release-notes v1.2' }],
    ['/release_notes', { kind: 'skill', text: '/release_notes' }],
    ['/Release_Notes_2@Stoke_Bot v1\nv2', { kind: 'skill', text: '/release-notes v1\nv2' }],
    ['/release-notes@stoke_bot v1', { kind: 'skill', text: '/release-notes v1' }],
    ['/greet people now', { kind: 'skill', text: '/greet people now' }],
    ['/greet_people now', { kind: 'skill', text: '/greet people now' }],
    ['/greet all', { kind: 'skill', text: '/greet all' }],
    ['/uber x', { kind: 'skill', text: '/über x' }],
    ['/reset', { kind: 'own', name: 'reset' }],
    ['/RESET@stoke_bot now', { kind: 'own', name: 'reset' }],
    ['/reset_2', { kind: 'skill', text: '/reset' }],
    ['/start payload', { kind: 'own', name: 'start' }],
    ['/unknown', { kind: 'unknown', word: 'unknown' }],
    ['/inner', { kind: 'unknown', word: 'inner' }],
    ['/inner part x', { kind: 'unknown', word: 'inner' }],
    ['/etc/hosts is empty', { kind: 'none' }],
    ['/orders.find {}', { kind: 'none' }],
    ['/ greet', { kind: 'none' }],
    ['greet', { kind: 'none' }],
  ])('%j', async (message, expected) => {
    const skills = await read()
    expect(readCommand(message, 'stoke_bot', skills, listInvocable(skills))).toEqual(expected)
  })
})

test('isForOther() recognises commands with the name of another bot', () => {
  expect(
    ['/greet@other_bot', '/greet@other_bot x', '/greet@Stoke_Bot', '/greet', 'hi @other_bot'].map(each =>
      isForOther(each, 'stoke_bot'),
    ),
  ).toEqual([true, true, false, false, false])
})
