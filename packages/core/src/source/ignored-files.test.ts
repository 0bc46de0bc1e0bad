import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from './file-source.ts'
import { NO_SETTLE } from './settle.ts'

const text = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nx\n`

test('.skillignore still applies while SKILL.md is missing, and after SKILL.md is back', async () => {
  const files = new MemoryFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/pdf/.skillignore': 'private.txt\ndrafts/\n',
    '/skills/pdf/private.txt': 'KEY=secret',
    '/skills/pdf/drafts/hidden/SKILL.md': text('hidden'),
    '/skills/pdf/notes.md': 'x',
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  const pathsOf = (name: string): readonly string[] =>
    skills.current.find(name)?.files.map(({ path }) => path) ?? []
  const names = (): readonly string[] => skills.current.list().map(({ name }) => name)
  const all = ['.skillignore', 'SKILL.md', 'notes.md']
  expect([names(), pathsOf('pdf')]).toEqual([['pdf'], all])

  files.remove('/skills/pdf/SKILL.md')
  await skills.reload()
  expect(names()).toEqual([])
  files.write('/skills/pdf/SKILL.md', text('pdf'))
  await skills.reload()
  expect([names(), pathsOf('pdf')]).toEqual([['pdf'], all])

  // When .skillignore is changed or removed, its former rules no longer apply.
  files.write('/skills/pdf/.skillignore', 'private.txt\n')
  await skills.reload()
  expect([names(), pathsOf('pdf').includes('private.txt')]).toEqual([['hidden', 'pdf'], false])
  files.remove('/skills/pdf/.skillignore')
  await skills.reload()
  expect(pathsOf('pdf')).toContain('private.txt')
})

test('.skillignore applies in folders without a SKILL.md, even after a restart', async () => {
  const files = new MemoryFileSystem({
    '/skills/pdf/.skillignore': 'drafts/\n',
    '/skills/pdf/drafts/hidden/SKILL.md': text('hidden'),
    '/skills/pdf/other/SKILL.md': text('other'),
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  expect(skills.current.list().map(({ name }) => name)).toEqual(['other'])
})

/** A file system that delays the listing of one folder, and one read of the SKILL.md in that folder. */
class SlowFileSystem extends MemoryFileSystem {
  slow: string | undefined

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    const listed = await super.list(path)
    if (path === this.slow) await turns(5)
    return listed
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    if (this.slow !== undefined && path === `${this.slow}/SKILL.md`) {
      this.slow = undefined
      await turns(50)
    }
    return await super.read(path, options)
  }
}

/** Waits for some turns of the event loop. A file system in memory needs only one turn to finish its pending work. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

test('new rules of the root apply to a skill that changes at the same time, even if the skill is read before the rules', async () => {
  const files = new SlowFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/pdf/references/guide.md': 'x',
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  files.slow = '/skills/pdf'
  files.write('/skills/.skillignore', 'references\n')
  files.write('/skills/pdf/SKILL.md', text('pdf').replace('x', 'y'))
  files.write('/skills/pdf/new.md', 'x')
  const generation = await skills.fresh()
  expect(generation.find('pdf')?.files.map(({ path }) => path)).toEqual(['SKILL.md', 'new.md'])
})

/** A file system on which some folders are temporarily unreadable. */
class LockedFileSystem extends MemoryFileSystem {
  locked: (path: string) => boolean = () => false

  #assertReadable(path: string): void {
    if (this.locked(path)) throw new SkillError('IO_FAILED', `${JSON.stringify(path)}: EACCES`)
  }

  override async stat(path: string): Promise<FileStat> {
    this.#assertReadable(path)
    return await super.stat(path)
  }

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    this.#assertReadable(path)
    return await super.list(path)
  }
}

test('when a skill changes, the source tries again to read an unreadable folder in the skill', async () => {
  const files = new LockedFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/pdf/references/guide.md': 'x',
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  const describe = async (): Promise<unknown> =>
    (await skills.fresh())
      .reports()
      .map(({ status, diagnostics }) => [status, ...diagnostics.map(({ code }) => code)])
  files.locked = path => path.startsWith('/skills/pdf/references')
  files.write('/skills/pdf/references/guide.md', 'y')
  expect(await describe()).toEqual([['broken', 'DIRECTORY_UNREADABLE']])
  files.locked = () => false
  // The skill's folder gets an event, because the permissions of an entry in that folder changed.
  files.write('/skills/pdf/SKILL.md', text('pdf').replace('x', 'z'))
  expect(await describe()).toEqual([['ok']])
})
