import { renameSync, symlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { skillText, TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { directory } from '../disk/directory.ts'
import type { SkillRuntime } from '../index.ts'
import { createSkillRuntime } from '../index.ts'
import { openState } from './open-state.ts'

let folder: TemporaryFolder
beforeEach(() => {
  folder = new TemporaryFolder()
})
afterEach(() => folder[Symbol.dispose]())

/** Opens a process over one folder. All processes share one state directory. */
async function open(): Promise<SkillRuntime> {
  const source = directory(folder.at('s'), { label: 's', writable: true, watching: 'off' })
  return await createSkillRuntime({ sources: [source], state: await openState(folder.at('state')) })
}

async function writeAsAgent(skills: SkillRuntime, skill: string, content = 'agent()'): Promise<void> {
  await skills.writer().write({ skill, path: 'x.py', content, agent: { name: 'the bot' } })
  await skills.reload()
}

const statusesOf = (skills: SkillRuntime): Record<string, string> =>
  Object.fromEntries(skills.current.reports().map(({ name, status }) => [name, status]))

/** Changes the other skill by hand, so that its newest revision is neither live nor approved. */
async function touch(skills: SkillRuntime, location: string, text: string): Promise<Record<string, string>> {
  folder.write(`s/${location}/notes.md`, text)
  await skills.reload()
  return statusesOf(skills)
}

function putLinked(): void {
  folder.write('s/pdf/SKILL.md', skillText('pdf'))
  folder.write('s/pdf/x.py', 'person()')
  folder.write('s/team/SKILL.md', skillText('team'))
  symlinkSync('../pdf/x.py', folder.at('s/team/x.py'))
}

function putNested(): void {
  folder.write('s/team/SKILL.md', skillText('team'))
  folder.write('s/team/pdf/SKILL.md', skillText('pdf'))
  folder.write('s/team/pdf/x.py', 'person()')
}

const LAYOUTS = [
  ['links to the file of pdf', putLinked],
  ['contains the folder of pdf', putNested],
] as const

test.each(LAYOUTS)(
  'T50: approve("pdf") approves the text of an agent only for pdf if team %s',
  async (_, put) => {
    put()
    await using skills = await open()
    await writeAsAgent(skills, 'pdf')
    await skills.review.approve('pdf')
    expect(await touch(skills, 'team', 'By hand.')).toEqual({ pdf: 'ok', team: 'pending' })
    await skills.review.approve('team')
    expect(await touch(skills, 'team', 'By hand again.')).toEqual({ pdf: 'ok', team: 'ok' })
  },
)

test.each(LAYOUTS)(
  'T50: approve("team") approves the text of an agent only for team if team %s',
  async (_, put) => {
    put()
    await using skills = await open()
    await writeAsAgent(skills, 'pdf')
    await skills.review.approve('team')
    expect(await touch(skills, 'team', 'By hand.')).toEqual({ pdf: 'pending', team: 'ok' })
    await skills.review.approve('pdf')
    expect(await touch(skills, 'team', 'By hand again.')).toEqual({ pdf: 'ok', team: 'ok' })
  },
)

test.each(LAYOUTS)('T50: an approval for pdf alone survives a restart if team %s', async (_, put) => {
  put()
  {
    await using skills = await open()
    await writeAsAgent(skills, 'pdf')
    await skills.review.approve('pdf')
  }
  await using skills = await open()
  expect(statusesOf(skills)).toEqual({ pdf: 'ok', team: 'pending' })
  expect(await touch(skills, 'team', 'By hand.')).toEqual({ pdf: 'ok', team: 'pending' })
})

test.each(LAYOUTS)('T50: a rename of team approves nothing for team if team %s', async (_, put) => {
  put()
  await using skills = await open()
  await writeAsAgent(skills, 'pdf')
  await skills.review.approve('pdf')
  renameSync(folder.at('s/team'), folder.at('s/group'))
  await skills.reload()
  expect(await touch(skills, 'group', 'By hand.')).toEqual({ pdf: 'ok', team: 'pending' })
})

test.each([
  [[], ['pdf', 'team'], ...LAYOUTS[1]],
  [['pdf'], ['team'], ...LAYOUTS[1]],
  [['pdf', 'team'], [], ...LAYOUTS[1]],
  [['pdf'], ['team'], ...LAYOUTS[0]],
] as const)(
  'T50: a rename of team while no process runs keeps the approvals of %j, and %j wait, if team %s',
  async (approved, waiting, _, put) => {
    put()
    {
      await using skills = await open()
      await writeAsAgent(skills, 'pdf')
      for (const name of approved) await skills.review.approve(name)
    }
    renameSync(folder.at('s/team'), folder.at('s/group'))
    await using skills = await open()
    await skills.reload()
    expect(skills.review.pending().map(({ name }) => name)).toEqual(waiting)
  },
)

test('T50: an approved text that an agent writes again waits for an approval in a new revision', async () => {
  putLinked()
  await using skills = await open()
  await writeAsAgent(skills, 'pdf')
  await skills.review.approve('pdf')
  await skills.review.approve('team')
  folder.write('s/pdf/x.py', 'person()')
  await touch(skills, 'pdf', 'By hand.')
  await writeAsAgent(skills, 'pdf')
  expect(statusesOf(skills)).toEqual({ pdf: 'pending', team: 'ok' })
  await skills.close()
  renameSync(folder.at('s/pdf'), folder.at('s/moved'))
  await using later = await open()
  expect(statusesOf(later)).toMatchObject({ pdf: 'pending' })
})
