import { describe, expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import type { DirectoryEntry, FileStat } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { FileSource } from './file-source.ts'

const text = (name: string, body = 'x'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

/** A file system that cannot watch some folders, and that records which folders are listed. */
class RefusingFileSystem extends MemoryFileSystem {
  refused: (path: string) => boolean = () => false
  watchAttempts = 0
  /** The paths for which `stat()` was called. */
  readonly stated = new Set<string>()
  readonly #breakers = new Set<(error: Error) => void>()
  #lists: string[] = []

  override watch(path: string, onEvent: () => void, onError?: (error: Error) => void): () => void {
    this.watchAttempts++
    if (this.refused(path)) throw new SkillError('NOT_WATCHABLE', `${JSON.stringify(path)}: ENOSPC`)
    if (onError !== undefined) this.#breakers.add(onError)
    return super.watch(path, onEvent)
  }

  /** Breaks every watch. */
  breakWatches(): void {
    for (const each of [...this.#breakers]) each(new Error('the queue overflowed'))
  }

  override async stat(path: string): Promise<FileStat> {
    this.stated.add(path)
    return await super.stat(path)
  }

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    this.#lists.push(path)
    return await super.list(path)
  }

  /** Returns the folders that were listed since the last call. */
  takeLists(): readonly string[] {
    return this.#lists.splice(0)
  }
}

interface Kit extends AsyncDisposable {
  readonly files: RefusingFileSystem
  readonly clock: FakeClock
  readonly skills: SkillRuntime
  readonly bodyOf: (name: string) => Promise<string>
}

async function open(
  refused: (path: string) => boolean,
  names: readonly string[] = ['a', 'b', 'c'],
): Promise<Kit> {
  const files = new RefusingFileSystem(
    Object.fromEntries(names.map(name => [`/skills/${name}/SKILL.md`, text(name)])),
  )
  files.refused = refused
  const clock = new FakeClock()
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  // The clock never advances, so a call that waits for a timer would never end.
  const skills = await createSkillRuntime({ sources: [source], clock })
  await clock.advance(3_000)
  files.takeLists()
  return {
    files,
    clock,
    skills,
    bodyOf: async name => (await skills.readBody(skills.current.get(name))).trim(),
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

describe('FileSource with a refused watch', () => {
  test('a request checks only the folder with a refused watch, and waits for no timer', async () => {
    await using it = await open(path => path === '/skills/b')
    for (let call = 0; call < 5; call++) await it.skills.fresh()
    expect(new Set(it.files.takeLists())).toEqual(new Set(['/skills/b']))
    it.files.write('/skills/b/SKILL.md', text('b', 'edited'))
    await it.skills.fresh()
    expect(await it.bodyOf('b')).toBe('edited')
    expect(it.skills.status()[0]).toMatchObject({
      mode: 'degraded',
      unwatched: 1,
      reason: 'a folder is checked every 2000 ms and on request: "/skills/b": ENOSPC',
      sweepMs: 30_000,
      failures: 0,
    })
  })

  test('the source checks a folder with a refused watch every two seconds without requests', async () => {
    await using it = await open(path => path === '/skills/b')
    await it.clock.advance(20_000)
    const lists = it.files.takeLists()
    expect(new Set(lists)).toEqual(new Set(['/skills/b']))
    expect(lists.length).toBeGreaterThanOrEqual(9)
    expect(lists.length).toBeLessThanOrEqual(11)
    it.files.write('/skills/b/SKILL.md', text('b', 'edited'))
    await it.clock.advance(2_000)
    expect(await it.bodyOf('b')).toBe('edited')
  })

  test('a complete sweep comes at its usual time although a watch was refused', async () => {
    await using it = await open(path => path === '/skills/b')
    it.files.stated.clear()
    await it.clock.advance(20_000)
    expect(it.files.stated).not.toContain('/skills/a/SKILL.md')
    await it.clock.advance(20_000)
    expect(it.files.stated).toContain('/skills/a/SKILL.md')
  })

  test('the source tries a refused watch again, so events work again after the limits change', async () => {
    await using it = await open(path => path === '/skills/b')
    it.files.refused = () => false
    await it.clock.advance(12_000)
    expect(it.skills.status()[0]).toMatchObject({ mode: 'events' })
    expect(it.skills.status()[0]?.unwatched).toBeUndefined()
    it.files.takeLists()
    await it.skills.fresh()
    expect(it.files.takeLists()).toEqual([])
    it.files.write('/skills/b/SKILL.md', text('b', 'edited'))
    await it.clock.advance(100)
    expect(await it.bodyOf('b')).toBe('edited')
  })

  test('if every watch is refused, each request still sees all changes, and the source rarely tries to set watches', async () => {
    await using it = await open(() => true)
    it.files.watchAttempts = 0
    for (let call = 0; call < 20; call++) {
      it.files.write('/skills/c/SKILL.md', text('c', String(call)))
      await it.skills.fresh()
      expect(await it.bodyOf('c')).toBe(String(call))
    }
    expect(it.files.watchAttempts).toBe(0)
    it.files.write('/skills/new/SKILL.md', text('new'))
    await it.skills.fresh()
    expect(it.skills.current.find('new')).toBeDefined()
    expect(it.skills.status()[0]).toMatchObject({ mode: 'degraded', unwatched: 5 })
  })
})

test('the source reads all folders when a working watch breaks', async () => {
  await using it = await open(() => false)
  await it.clock.advance(5_000)
  it.files.takeLists()
  it.files.breakWatches()
  await it.clock.advance(200)
  expect(it.skills.status()[0]).toMatchObject({ mode: 'events', failures: 0 })
  it.files.write('/skills/a/SKILL.md', text('a', 'edited'))
  await it.clock.advance(200)
  expect(await it.bodyOf('a')).toBe('edited')
})

test('a request finds all changes in many unwatched folders, and lists only changed folders', async () => {
  const names = Array.from({ length: 200 }, (_, number) => `skill-${number}`)
  await using kit = await open(() => true, names)
  await kit.skills.fresh()
  expect(kit.files.takeLists().length).toBeLessThan(10)
  kit.files.write('/skills/skill-7/SKILL.md', text('skill-7', 'Edited.'))
  kit.files.write('/skills/new/SKILL.md', text('new'))
  await kit.skills.fresh()
  expect(kit.skills.current.find('new')).toBeDefined()
  expect(await kit.bodyOf('skill-7')).toBe('Edited.')
  expect(kit.files.takeLists().length).toBeLessThan(20)
  expect(kit.skills.status()[0]?.mode).toBe('degraded')
})

test('a request lists an unwatched folder with many subfolders only if its stat changed', async () => {
  const names = Array.from({ length: 200 }, (_, number) => `skill-${number}`)
  await using kit = await open(path => path === '/skills', names)
  await kit.skills.fresh()
  kit.files.takeLists()
  kit.files.stated.clear()
  await kit.skills.fresh()
  expect(kit.files.takeLists()).toEqual([])
  expect(kit.files.stated).not.toContain('/skills/skill-7')
  kit.files.write('/skills/new/SKILL.md', text('new'))
  kit.files.remove('/skills/skill-8')
  kit.files.rename('/skills/skill-9', '/skills/skill-10')
  await kit.skills.fresh()
  expect(kit.skills.current.find('new')).toBeDefined()
  expect([kit.skills.current.find('skill-8'), kit.skills.current.find('skill-10')]).toEqual([
    undefined,
    undefined,
  ])
  expect(kit.skills.current.get('skill-9').location).toBe('skill-10')
})
