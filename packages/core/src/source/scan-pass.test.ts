import { expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import type { FileStat } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from './file-source.ts'

/** A file system on which one folder is unreadable. */
class PartlyLockedFileSystem extends MemoryFileSystem {
  #assertReadable(path: string): void {
    if (path.startsWith('/home/')) throw new SkillError('IO_FAILED', `${JSON.stringify(path)}: EACCES`)
  }

  override async stat(path: string): Promise<FileStat> {
    this.#assertReadable(path)
    return await super.stat(path)
  }

  override async resolve(path: string): Promise<string> {
    this.#assertReadable(path)
    return await super.resolve(path)
  }
}

test('an unreadable root takes no other root down, although links in other roots may point into it', async () => {
  const fileSystem = new PartlyLockedFileSystem({
    '/project/pdf/SKILL.md': '---\nname: pdf\ndescription: Does pdf.\n---\nx\n',
    '/home/skills/.keep': '',
  })
  const roots = ['/project', '/home/skills']
  const sources = roots.map(
    root => new FileSource({ fileSystem, root, label: root, linkRoots: roots.filter(each => each !== root) }),
  )
  await using skills = await createSkillRuntime({ sources })
  await skills.fresh()
  expect(skills.current.list().map(({ name }) => name)).toEqual(['pdf'])
  const codes = skills.current.sources().map(({ diagnostics }) => diagnostics.map(({ code }) => code))
  expect(codes).toEqual([[], ['SOURCE_FAILED']])
})
