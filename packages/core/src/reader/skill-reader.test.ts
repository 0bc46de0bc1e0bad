import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'

const text = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Does ${name} work.\n---\n${body}\n`

async function open(files: MemoryFileSystem): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', watching: 'off' })
  return await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
}

const openTwo = async (): Promise<{ files: MemoryFileSystem; skills: SkillRuntime }> => {
  const files = new MemoryFileSystem({
    '/skills/pdf/SKILL.md': text('pdf', 'Old.'),
    '/skills/maps/SKILL.md': text('maps', 'Maps.'),
  })
  return { files, skills: await open(files) }
}

describe('forConversation() with a scope', () => {
  test('the reader hides skills outside its scope from load, search and catalog', async () => {
    const { skills } = await openTwo()
    await using _ = skills
    const reader = skills.forConversation({ scope: { include: ['maps'] } })
    expect((await reader.load('maps')).body).toBe('Maps.')
    await expect(reader.load('pdf')).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      message: expect.not.stringContaining('available: maps, pdf'),
      data: { available: ['maps'] },
    })
    expect(reader.search('does').map(({ skill }) => skill.name)).toEqual(['maps'])
    expect(reader.catalog().listed).toEqual(['maps'])
    expect(skills.catalog().listed).toEqual(['maps', 'pdf'])
  })

  test('the reader explains that a skill is outside its scope', async () => {
    const { skills } = await openTwo()
    await using _ = skills
    const reader = skills.forConversation({ scope: { include: ['maps'] } })
    expect(reader.explain('pdf').steps.at(-1)).toMatchObject({ step: 'scoped', ok: false })
    expect(skills.explain('pdf').steps.at(-1)).toMatchObject({ step: 'listed', ok: true })
  })
})

describe('forConversation() with a pinned generation', () => {
  test('the reader answers from its pinned generation and never reads the sources', async () => {
    const { files, skills } = await openTwo()
    await using _ = skills
    const pinned = skills.current
    const reader = skills.forConversation({ pinned })
    files.write('/skills/pdf/SKILL.md', text('pdf', 'New.'))
    expect(await reader.refresh('pdf')).toBe(pinned)
    expect(await reader.fresh()).toBe(pinned)
    expect(skills.current).toBe(pinned)
    expect((await reader.load('pdf')).body).toBe('Old.')
    expect((await skills.load('pdf')).body).toBe('New.')
    expect((await reader.load('pdf')).body).toBe('Old.')
  })
})

describe('readFile()', () => {
  test('reads a file of an old revision if the caller has the file list', async () => {
    const { files, skills } = await openTwo()
    await using _ = skills
    const old = skills.current.get('pdf')
    files.write('/skills/pdf/SKILL.md', text('pdf', 'New.'))
    await skills.refresh('pdf')
    const listed = (await skills.listFiles(old.revision)) ?? []
    const bytes = await skills.readFile({ name: 'pdf', revision: old.revision, files: listed }, 'SKILL.md')
    expect(new TextDecoder().decode(bytes)).toContain('Old.')
  })

  test('a read fails if the revision is not stored, and the error names the revision', async () => {
    const { skills } = await openTwo()
    await using _ = skills
    const revision = `sha256:${'0'.repeat(64)}` as const
    const files = [{ path: 'a.md', digest: revision, size: 1, isExecutable: false }]
    await expect(skills.readFile({ name: 'pdf', revision, files }, 'a.md')).rejects.toMatchObject({
      code: 'REVISION_NOT_FOUND',
      message: `revision ${revision} is not stored; read the newest one`,
    })
    expect(await skills.listFiles(revision)).toBeUndefined()
  })
})

test('after the runtime was closed, a reader keeps the last generation but refuses to read the sources', async () => {
  const { skills } = await openTwo()
  const reader = skills.forConversation({ scope: { include: ['*'] } })
  await skills.close()
  await expect(reader.fresh()).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(reader.refresh('pdf')).rejects.toMatchObject({ code: 'CLOSED' })
  expect(reader.current.list()).toHaveLength(2)
})
