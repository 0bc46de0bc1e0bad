import { expect, test } from 'vitest'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { MemorySource } from '../source/memory-source.ts'
import type { SkillSession } from './skill-session.ts'

const deploy = (isUserOnly: boolean, body = 'Push the button.') => ({
  name: 'deploy',
  description: 'Deploys the shop.',
  body,
  ...(isUserOnly ? { fields: { 'disable-model-invocation': true } } : {}),
})
const greet = { name: 'greet', description: 'Greets people.' }

async function open(
  isUserOnly: boolean,
): Promise<{ skills: SkillRuntime; source: MemorySource } & AsyncDisposable> {
  const source = new MemorySource({ label: 'mine' }, [deploy(isUserOnly), greet])
  const skills = await createSkillRuntime({ sources: [source] })
  return { skills, source, [Symbol.asyncDispose]: () => skills.close() }
}

async function call(session: SkillSession, name: string): Promise<{ text: string; isError: boolean }> {
  return (await session.tools[0]?.execute({ name })) ?? { text: '', isError: true }
}

test('a model does not find a skill with "disable-model-invocation: true", and cannot load it', async () => {
  await using it = await open(true)
  using session = it.skills.session({ id: 's' })
  expect(session.catalogDetails.listed).toEqual(['greet'])
  expect(session.knows('deploy')).toBe(false)
  for (const asked of ['', 'the shop', 'Deploys the shop.'])
    expect((await call(session, asked)).text, asked).not.toContain('deploy:')
  expect((await call(session, 'deplo')).text).not.toContain('did you mean')
  expect(await call(session, 'deploy')).toMatchObject({
    isError: true,
    text: expect.stringContaining('only the user may invoke "deploy"'),
  })
  expect(session.ledger.entries()).toEqual([])
  expect(it.skills.explain('deploy', session).steps.at(-1)).toEqual({
    step: 'listed',
    ok: false,
    detail: 'hidden: only a person may invoke it, with "/deploy": disable-model-invocation is true',
  })
})

test('after a person invoked such a skill, the model may read its newest instructions', async () => {
  await using it = await open(true)
  using session = it.skills.session({ id: 's' })
  expect((await session.expandSlash('/deploy')).text).toContain('Push the button.')
  it.source.put(deploy(true, 'Pull the lever.'))
  expect((await session.update())?.text).toContain('you loaded deploy')
  expect((await call(session, 'deploy')).text).toContain('Pull the lever.')
})

test('a change of "disable-model-invocation" is announced as an added or a removed skill', async () => {
  await using it = await open(false)
  using session = it.skills.session({ id: 's' })
  it.source.put(deploy(true))
  expect((await session.update())?.text).toContain('- removed: deploy')
  const stored = session.state()
  it.source.put(deploy(false))
  expect((await session.update())?.text).toContain('- added: deploy')
  using resumed = it.skills.session({ id: 'other', resume: stored })
  expect((await resumed.update())?.text).toContain('- added: deploy')
})
