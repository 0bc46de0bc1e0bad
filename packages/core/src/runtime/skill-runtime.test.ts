import { expect, test } from 'vitest'
import type { DirectoryEntry } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'

const text = (body: string): string => `---\nname: pdf\ndescription: Reads.\n---\n${body}\n`

test('SkillRuntime.fresh({ maxWaitMs }) fails with TIMED_OUT if a folder is still being written after maxWaitMs', async () => {
  const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('First.') })
  const clock = new FakeClock()
  const skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
    clock,
  })
  fileSystem.write('/skills/pdf/SKILL.md', text('Second.'))
  const soon = skills.fresh({ maxWaitMs: 5 }).catch((thrown: unknown) => thrown)
  const whole = skills.fresh()
  await clock.advance(5)
  expect(await soon).toMatchObject({ code: 'TIMED_OUT', data: { limitMs: 5 } })
  await clock.advance(100)
  await whole
  expect((await skills.load('pdf')).body).toBe('Second.')
  expect(await skills.fresh({ maxWaitMs: 5 })).toBe(skills.current)
  await skills.close()
})

/** A file system that takes 30 ms to list a directory. */
class SlowFileSystem extends MemoryFileSystem {
  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    await new Promise(resolve => setTimeout(resolve, 30))
    return await super.list(path)
  }
}

test.each([Infinity, 3e9])(
  'SkillRuntime.fresh({ maxWaitMs: %d }) waits for a slow source',
  async maxWaitMs => {
    const fileSystem = new SlowFileSystem({ '/skills/pdf/SKILL.md': text('First.') })
    await using skills = await createSkillRuntime({
      sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })],
      tuning: { settle: NO_SETTLE },
    })
    fileSystem.write('/skills/docx/SKILL.md', text('Second.').replace('pdf', 'docx'))
    const seen = await skills.fresh({ maxWaitMs })
    expect(seen.list().map(({ name }) => name)).toEqual(['docx', 'pdf'])
  },
)
