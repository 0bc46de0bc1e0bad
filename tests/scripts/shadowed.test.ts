import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { childProcesses } from '@skillstoke/scripts'
import { expect, test } from 'vitest'
import { commandText } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

test('the text and files of a shadowed skill can be read, but only the code of the first source runs', async () => {
  using folder = new TemporaryFolder()
  for (const source of ['own', 'team']) {
    folder.writeSkill(`${source}/pdf`, { body: `Text of ${source}.` })
    folder.write(`${source}/pdf/scripts/tell.ts`, commandText('tell', `return 'code of ${source}'`))
    folder.write(`${source}/pdf/scripts/say.mjs`, `console.log('file of ${source}')`)
  }
  const sources = ['own', 'team'].map(label => directory(folder.at(label), { label, watching: 'off' }))
  await using skills = await createSkillRuntime({ sources, scripts: childProcesses() })
  const session = skills.session({ id: 'chat', allowedTools: 'enforce' })
  const call = async (name: string, input: object): Promise<string> =>
    (await session.tools.find(tool => tool.name === name)?.execute(input))?.text ?? 'no such tool'
  const loaded = await call('skill', { name: 'team/pdf' })
  expect(loaded).toContain('Text of team.')
  expect(loaded).toContain('does not run, because the source &quot;own&quot; has precedence')
  expect(loaded).not.toContain('code of own')
  for (const [tool, rest] of [
    ['run_skill_command', { command: 'tell' }],
    ['run_skill_script', { path: 'scripts/say.mjs' }],
  ] as const) {
    expect(await call(tool, { skill: 'team/pdf', ...rest })).toMatch(/does not run, .*; use "pdf"$/)
    expect(await call(tool, { skill: 'pdf', ...rest })).toMatch(/of own/)
  }
  for (const refused of [
    () => skills.scripts.execute('team/pdf.tell'),
    () => skills.scripts.run('team/pdf', 'scripts/say.mjs'),
    () => skills.scripts.reload('team/pdf'),
  ])
    await expect(refused()).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
  expect((await skills.scripts.execute('pdf.tell')).value).toBe('code of own')
})

test('a conversation records a shadowed skill under the name with which it was loaded', async () => {
  using folder = new TemporaryFolder()
  for (const source of ['own', 'team']) folder.writeSkill(`${source}/pdf`, { body: `Text of ${source}.` })
  const sources = ['own', 'team'].map(label => directory(folder.at(label), { label, watching: 'off' }))
  await using skills = await createSkillRuntime({ sources })
  const session = skills.session({ id: 'chat' })
  const { skill } = await session.expandSlash('/team/pdf now')
  expect(session.ledger.entries().map(({ name }) => name)).toEqual(['team/pdf'])
  expect(await session.offer()).toBeUndefined()
  const revision = skill?.revision
  folder.writeSkill('team/pdf', { body: 'Newer.' })
  await skills.reload()
  const read = session.tools.find(({ name }) => name === 'read_skill_file')
  const answer = await read?.execute({ skill: 'team/pdf', path: 'SKILL.md', revision })
  expect(answer?.text).toContain('Text of team.')
})
