import { symlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { skillText, TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import type { SkillRuntime } from '../index.ts'
import { createSkillRuntime } from '../index.ts'
import { type DecisionStore, MemoryDecisions } from '../source-entry.ts'
import { directory } from './directory.ts'

let folder: TemporaryFolder
let decisions: DecisionStore
beforeEach(() => {
  folder = new TemporaryFolder()
  decisions = new MemoryDecisions()
})
afterEach(() => folder[Symbol.dispose]())

/** Opens a process over one folder. All processes share the decisions. */
async function open(root: string, options: Parameters<typeof directory>[1] = {}): Promise<SkillRuntime> {
  const source = directory(folder.at(root), { label: root, watching: 'off', ...options })
  return await createSkillRuntime({ sources: [source], state: { decisions } })
}

async function writeAsAgent(root: string, skill: string, path: string): Promise<void> {
  await using skills = await open(root, { writable: true })
  await skills.writer().write({ skill, path, content: 'agent()', agent: { name: 'the bot' } })
}

const statusesAfter = async (skills: SkillRuntime): Promise<Record<string, string>> => {
  await skills.reload()
  return Object.fromEntries(skills.current.reports().map(({ name, status }) => [name, status]))
}

test('T50: a text of an agent waits for an approval where the skill was installed as a link', async () => {
  folder.write('canon/pdf/SKILL.md', skillText('pdf'))
  folder.write('mine/.keep', '')
  symlinkSync(folder.at('canon/pdf'), folder.at('mine/pdf'))
  await using skills = await open('mine', { linkRoots: [folder.at('canon')] })
  await writeAsAgent('canon', 'pdf', 'scripts/x.py')
  expect(await statusesAfter(skills)).toEqual({ pdf: 'pending' })
})

test('T50: a text of an agent waits for an approval where the root of the source is a link', async () => {
  folder.write('canon/skills/pdf/SKILL.md', skillText('pdf'))
  symlinkSync(folder.at('canon/skills'), folder.at('linked'))
  await using linked = await open('linked')
  await writeAsAgent('canon/skills', 'pdf', 'scripts/x.py')
  expect(await statusesAfter(linked)).toEqual({ pdf: 'pending' })
  await using direct = await open('canon/skills')
  await writeAsAgent('linked', 'pdf', 'scripts/y.py')
  expect(await statusesAfter(direct)).toEqual({ pdf: 'pending' })
})

test.each(['scripts/lib.py', 'scripts'])(
  'T50: a text of an agent waits for an approval in a skill that links to %s of the written skill',
  async linked => {
    folder.write('skills/common/SKILL.md', skillText('common'))
    folder.write('skills/common/scripts/lib.py', 'person()')
    folder.write('skills/pdf/SKILL.md', skillText('pdf'))
    if (linked !== 'scripts') folder.write('skills/pdf/scripts/main.py', 'import lib')
    symlinkSync(folder.at(`skills/common/${linked}`), folder.at(`skills/pdf/${linked}`))
    await using skills = await open('skills')
    expect(await statusesAfter(skills)).toEqual({ common: 'ok', pdf: 'ok' })
    await writeAsAgent('skills', 'common', 'scripts/lib.py')
    expect(await statusesAfter(skills)).toEqual({ common: 'pending', pdf: 'pending' })
    const lib = skills.current.get('pdf').files.find(({ path }) => path === 'scripts/lib.py')
    expect(lib?.size).toBe('person()'.length)
  },
)
