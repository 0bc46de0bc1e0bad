import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
import type { SkillEvents } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { follow, until } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

const QUESTION = 'May I use the refund skill?'

interface Listed {
  readonly generation: { readonly digest: string }
  readonly skills: readonly {
    readonly name: string
    readonly status: string
    readonly serving: string
    readonly revision: string | null
    readonly diagnostics: readonly { readonly line: number }[]
  }[]
}

test('after one save, events, command line and the next model call show the same digest and the new text', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  folder.writeSkill('refund', { body: 'Within 30 days.' })
  await using skills = await follow(folder.path, { label: 'root-1' })
  const agent = new SkillAgent({ skills, model: createOfflineModel() })
  const conversation = agent.conversation('chat')
  expect((await conversation.send(QUESTION)).text).toContain('Within 30 days.')

  const batches: SkillEvents['skills:batch'][] = []
  const modified: SkillEvents['skill:modified'][] = []
  skills.events.on('skills:batch', batch => void batches.push(batch))
  skills.events.on('skill:modified', change => void modified.push(change))
  const before = skills.current
  folder.writeSkill('refund', { body: 'Within 60 days.' })
  const after = await until(skills, 'the save is visible', generation => generation.digest !== before.digest)
  await skills.delivered()

  expect(batches).toEqual([expect.objectContaining({ generation: after.number, digest: after.digest })])
  expect(modified).toEqual([
    { oldSkill: before.get('refund'), newSkill: after.get('refund'), changed: ['body'] },
  ])
  const listed = stoke<Listed>(['list', '--json', '--root', folder.path, '--state', state.path])
  expect(listed.json.generation.digest).toBe(after.digest)
  expect(stoke(['show', 'refund', '--root', folder.path, '--state', state.path]).stdout).toContain(
    'Within 60 days.',
  )

  const kinds: string[] = []
  for await (const event of conversation.stream(QUESTION)) {
    kinds.push(event.kind)
    if (event.kind === 'skills-updated') {
      expect(event.update.digest).toBe(after.digest)
      expect(event.update.text).toContain(`it is now ${after.get('refund').revision.slice(7, 15)}`)
    }
    if (event.kind === 'model-call') expect(event.prefix.isUnchanged).toBe(true)
    if (event.kind === 'finish') expect(event.text).toContain('Within 60 days.')
  }
  expect(kinds.slice(0, 2)).toEqual(['skills-updated', 'model-call'])
})

test('a broken save leaves digest, text and tool answers unchanged, and every view reports the error', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  const file = folder.writeSkill('refund', { body: 'Within 30 days.' })
  const flags = ['--root', folder.path, '--state', state.path]
  expect(stoke<Listed>(['list', '--json', ...flags]).json.skills[0]?.status).toBe('ok')
  await using skills = await follow(folder.path, { label: 'root-1' })
  const conversation = new SkillAgent({ skills, model: createOfflineModel() }).conversation('chat')
  await conversation.send(QUESTION)
  const [skillTool] = conversation.session.tools
  const answer = await skillTool?.execute({ name: 'refund' })
  const before = skills.current
  const catalog = skills.catalog()
  const errors: SkillEvents['skill:error'][] = []
  skills.events.on('skill:error', error => void errors.push(error))

  folder.write('refund/SKILL.md', '---\nname: refund\ndescription: "never closed\n---\nBroken text.')
  const after = await until(
    skills,
    'the error is visible',
    generation => generation.reports()[0]?.status === 'broken',
  )
  await skills.delivered()

  expect(after.digest).toBe(before.digest)
  expect(after.number).toBeGreaterThan(before.number)
  expect(after.list()).toEqual(before.list())
  expect(skills.catalog()).toBe(catalog)
  expect(await skillTool?.execute({ name: 'refund' })).toEqual(answer)
  expect(await conversation.session.update()).toBeUndefined()
  expect(errors).toEqual([
    expect.objectContaining({ name: 'refund', serving: before.get('refund').revision }),
  ])
  expect(errors[0]?.diagnostics[0]).toMatchObject({ severity: 'error', path: file, line: expect.any(Number) })

  const listed = stoke<Listed>(['list', '--json', ...flags])
  expect(listed.json.generation.digest).toBe(before.digest)
  expect(listed.json.skills).toEqual([
    expect.objectContaining({
      name: 'refund',
      status: 'broken',
      revision: null,
      serving: before.get('refund').revision,
    }),
  ])
  expect(stoke(['list', ...flags]).stdout).toContain('YAML_INVALID')

  folder.write('refund/SKILL.md', skillText('refund', { body: 'Fixed.' }))
  await until(skills, 'the fix is live', generation => generation.digest !== before.digest)
  expect((await conversation.send(QUESTION)).text).toContain('Fixed.')
})
