import { describe, expect, test } from 'vitest'
import type { FileStat } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillSession } from '../session/skill-session.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { FileSource } from './file-source.ts'

const text = (name: string, body = 'x'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

/** A file system whose events come when the test calls `deliver()`. */
class LateFileSystem extends MemoryFileSystem {
  stats = 0
  editsInPlace = false
  /** Called before each `stat()`. */
  onStat: (() => void) | undefined
  #late: (() => void)[] = []

  constructor(files: Readonly<Record<string, string>>) {
    super(files)
    Object.defineProperty(this, 'drain', { value: undefined })
  }

  override watch(path: string, onEvent: () => void): () => void {
    return super.watch(path, () => void this.#late.push(onEvent))
  }

  override async stat(path: string): Promise<FileStat> {
    this.stats++
    this.onStat?.()
    const stat = await super.stat(path)
    // As on a disk, an edit in place does not change the times of the folder.
    return stat.kind === 'directory' && this.editsInPlace ? { ...stat, mtimeMs: 1, ctimeMs: 1 } : stat
  }

  deliver(): void {
    for (const onEvent of this.#late.splice(0)) onEvent()
  }
}

interface Kit extends AsyncDisposable {
  readonly files: LateFileSystem
  readonly clock: FakeClock
  readonly skills: SkillRuntime
  /** Advances the clock until the call of a runtime method has ended. */
  readonly during: <T>(call: Promise<T>) => Promise<T>
}

async function open(names: readonly string[] = ['a', 'b']): Promise<Kit> {
  const files = new LateFileSystem(
    Object.fromEntries(names.map(name => [`/skills/${name}/SKILL.md`, text(name)])),
  )
  const clock = new FakeClock()
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  const skills = await createSkillRuntime({ sources: [source], clock })
  await clock.advance(3_000)
  const during = async <T>(call: Promise<T>): Promise<T> => {
    let isOver = false
    const end = call.finally(() => (isOver = true))
    while (!isOver) await clock.advance(10)
    return await end
  }
  return { files, clock, skills, during, [Symbol.asyncDispose]: async () => await skills.close() }
}

describe('FileSource with late events', () => {
  test.each<[string, (skills: SkillRuntime, session: SkillSession) => Promise<unknown>]>([
    ['fresh()', async skills => await skills.fresh()],
    ['refresh()', async skills => await skills.refresh('a')],
    ['reload()', async skills => await skills.reload()],
    ['load()', async skills => await skills.load('a')],
    ['update()', async (_, session) => await session.update()],
  ])('%s sees every earlier save, whether its event comes soon, later or never', async (_, call) => {
    await using it = await open()
    const session = it.skills.session({ id: 's' })
    for (let save = 0; save < 12; save++) {
      it.files.write('/skills/a/SKILL.md', text('a', `save ${save}`))
      if (save % 3 === 0) it.files.deliver()
      const running = call(it.skills, session)
      if (save % 3 === 1) it.files.deliver()
      await it.during(running)
      expect(await it.skills.readBody(it.skills.current.get('a'))).toContain(`save ${save}`)
    }
  })

  test('a request sees added, removed, moved and nested files, and a root that was replaced', async () => {
    await using it = await open()
    const namesAfter = async (change: () => void): Promise<readonly string[]> => {
      change()
      await it.during(it.skills.fresh())
      return it.skills.current.list().map(({ name }) => name)
    }
    expect(await namesAfter(() => it.files.write('/skills/deep/er/c/SKILL.md', text('c')))).toEqual([
      'a',
      'b',
      'c',
    ])
    expect(await namesAfter(() => it.files.remove('/skills/a'))).toEqual(['b', 'c'])
    expect(await namesAfter(() => it.files.rename('/skills/b', '/skills/z'))).toEqual(['b', 'c'])
    await namesAfter(() => it.files.write('/skills/z/scripts/run.sh', 'echo'))
    expect(it.skills.current.get('b').files.map(({ path }) => path)).toContain('scripts/run.sh')
    expect(await namesAfter(() => it.files.rename('/skills', '/old'))).toEqual(['b', 'c'])
    expect(await namesAfter(() => it.files.write('/skills/new/SKILL.md', text('new')))).toEqual(['new'])
  })

  test('a request sees a changed .skillignore, no matter when the event comes during the request', async () => {
    await using it = await open()
    it.files.write('/skills/ignored/SKILL.md', text('ignored'))
    it.files.write('/skills/.skillignore', '#\n')
    it.files.editsInPlace = true
    await it.during(it.skills.reload())
    it.files.deliver()
    await it.clock.advance(3_000)
    const edits = Array.from({ length: 24 }, (_, edit) => edit)
    const seen: boolean[] = []
    for (const edit of edits) {
      it.files.write('/skills/.skillignore', edit % 2 === 0 ? 'ignored\n' : '#\n')
      it.files.stats = 0
      it.files.onStat = () => {
        if (it.files.stats === edit) it.files.deliver()
      }
      await it.during(it.skills.fresh())
      seen.push(it.skills.current.find('ignored') === undefined)
      it.files.onStat = undefined
      it.files.deliver()
      await it.clock.advance(3_000)
    }
    expect(seen).toEqual(edits.map(edit => edit % 2 === 0))
  })

  test('many requests at the same time share two checks of the files', async () => {
    await using it = await open(['a', 'b', 'c', 'd', 'e'])
    await it.skills.fresh()
    it.files.stats = 0
    await it.skills.fresh()
    const once = it.files.stats
    expect(once).toBeGreaterThan(0)
    it.files.stats = 0
    await Promise.all(Array.from({ length: 200 }, async () => await it.skills.fresh()))
    expect(it.files.stats).toBeLessThanOrEqual(2 * once)
  })

  test('a request without a change waits for no timer, and starts no scan', async () => {
    await using it = await open()
    const before = it.skills.status()[0]?.lastReadAt
    await it.clock.advance(1_000)
    await it.skills.fresh() // the clock stands still, so a wait for a timer would never end
    expect(it.skills.status()[0]).toMatchObject({ mode: 'events', lastReadAt: before })
  })
})
