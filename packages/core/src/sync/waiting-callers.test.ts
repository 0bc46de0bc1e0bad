import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, FileReadOptions, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import type { DuplicatePolicy } from '../registry/duplicate-policy.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { FakeClock } from '../testing/fake-clock.ts'

const text = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

/** Runs a callback while a file is read, to simulate a write by another process or a call by another caller. */
class InterruptedFileSystem extends MemoryFileSystem {
  onRead: (path: string) => void = () => undefined
  onListed: (path: string) => Promise<void> | void = () => undefined

  onResolve: () => void = () => undefined

  override async resolve(path: string): Promise<string> {
    this.onResolve()
    return await super.resolve(path)
  }

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    const entries = await super.list(path)
    await this.onListed(path)
    return entries
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const opened = await super.read(path, options)
    this.onRead(path)
    return opened
  }

  save(path: string, body: string): void {
    this.write(`${path}/SKILL.md`, text(path.split('/').at(-1) ?? '', body))
  }
}

interface Kit extends AsyncDisposable {
  readonly files: InterruptedFileSystem
  readonly clock: FakeClock
  readonly skills: SkillRuntime
  /** The skill names in each update. */
  readonly updates: string[]
  readonly bodyOf: (name: string) => Promise<string>
  /** Returns whether a call has ended after `afterMs` milliseconds. */
  readonly hasEnded: (call: Promise<unknown>, afterMs: number) => Promise<boolean>
}

/** Opens a runtime with the skills `a` to `d` in each root. */
async function open(
  roots: readonly string[] = ['/one'],
  onDuplicate: DuplicatePolicy = 'first-wins',
): Promise<Kit> {
  const files = new InterruptedFileSystem()
  for (const root of roots) for (const name of ['a', 'b', 'c', 'd']) files.save(`${root}/${name}`, 'old')
  const clock = new FakeClock()
  const sources = roots.map(
    root => new FileSource({ fileSystem: files, root, label: root.slice(1), clock, onMissing: 'wait' }),
  )
  const skills = await createSkillRuntime({ sources, clock, onDuplicate })
  await clock.advance(3_000)
  const updates: string[] = []
  const bodyOf = async (name: string): Promise<string> => await skills.readBody(skills.current.get(name))
  skills.subscribe(({ changes }) => {
    updates.push(changes.map(({ name }) => name).join(' '))
  })
  return {
    files,
    clock,
    skills,
    updates,
    bodyOf,
    hasEnded: async (call, afterMs) => {
      let isOver = false
      void call.then(() => (isOver = true))
      await clock.advance(afterMs)
      return isOver
    },
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

describe('several callers', () => {
  test('a call of load() during a scan does not make the scan unsettled', async () => {
    await using it = await open()
    const later: Promise<unknown>[] = []
    it.files.onListed = () => {
      if (later.length < 6) later.push(it.skills.load('b'), it.skills.load('c'))
    }
    // The clock never advances, so a call that waits for a timer would never end.
    expect(await it.hasEnded(it.skills.load('a'), 0)).toBe(true)
    expect(later).toHaveLength(6)
    expect(await it.hasEnded(Promise.all(later), 0)).toBe(true)
  })

  test('separate edits stay separate bursts even if callers ask frequently', async () => {
    await using it = await open()
    it.files.onRead = () => void it.skills.load('b')
    for (let edit = 0; edit < 40; edit++) {
      it.files.save('/one/a', `edit ${edit}`)
      const fresh = it.skills.fresh()
      void it.skills.load('b')
      expect(await it.hasEnded(fresh, 20)).toBe(true)
      expect(await it.bodyOf('a')).toBe(`edit ${edit}`)
      await it.clock.advance(30)
    }
  })
})

describe('callers and writers', () => {
  test('a caller waits for an edit that began before its request, but not for later edits of other skills', async () => {
    await using it = await open()
    it.files.save('/one/a', 'new')
    const fresh = it.skills.fresh()
    await it.clock.advance(15)
    it.files.save('/one/b', 'new')
    expect(await it.hasEnded(fresh, 5)).toBe(true)
    expect(await it.bodyOf('a')).toBe('new')
    expect(await it.bodyOf('b')).toBe('old')
    await it.clock.advance(20)
    expect(await it.bodyOf('b')).toBe('new')
  })

  test('loading a skill does not wait while another skill of the same source is written', async () => {
    await using it = await open()
    it.files.save('/one/a', 'new')
    it.files.save('/one/b', 'new')
    expect(await it.hasEnded(it.skills.load('c'), 0)).toBe(true)
    expect(await it.bodyOf('a')).toBe('old')
    expect(it.updates).toEqual([])
    await it.clock.advance(80)
    expect(it.updates).toEqual(['a b'])
  })

  test('a folder that another process writes without a pause delays only callers that load the skill in this folder', async () => {
    await using it = await open()
    const ended: string[] = []
    it.files.save('/one/a', 'begun')
    void it.skills.load('a').then(() => ended.push('a'))
    for (let at = 0; at < 1_900; at += 10) {
      it.files.write('/one/a/log', String(at))
      if (at === 500) it.files.save('/one/b', 'new')
      if (at === 510) void it.skills.load('b').then(async () => ended.push(`b is ${await it.bodyOf('b')}`))
      await it.clock.advance(10)
      if (at === 610) expect(ended).toEqual(['b is new'])
    }
    expect(ended).toEqual(['b is new'])
    await it.clock.advance(100)
    expect(ended).toContain('a')
    expect(await it.bodyOf('a')).toBe('begun')
  })

  test('a caller finds a renamed skill by its new name while other skills are written', async () => {
    await using it = await open()
    it.files.write('/one/z/SKILL.md', text('e', 'the e of z'))
    await it.clock.advance(3_000)
    it.files.write('/one/a/SKILL.md', text('e', 'the renamed a'))
    for (let at = 0; at < 100; at += 10) {
      it.files.save('/one/d', String(at))
      await it.clock.advance(10)
    }
    const load = it.skills.load('e')
    expect(await it.hasEnded(load, 0)).toBe(true)
    expect((await load).body.trim()).toBe('the renamed a')
  })

  test('if two folders swap their paths during a wait, each folder keeps its decisions', async () => {
    await using it = await open()
    await it.skills.review.disable('b')
    await it.clock.advance(1)
    it.updates.length = 0
    it.files.save('/one/a', 'new')
    const load = it.skills.load('a')
    await it.clock.advance(5)
    it.files.rename('/one/b', '/one/between')
    it.files.rename('/one/a', '/one/b')
    it.files.rename('/one/between', '/one/a')
    await it.clock.advance(200)
    expect((await load).body.trim()).toBe('new')
    expect([it.skills.current.get('a').location, it.skills.current.find('b')]).toEqual(['b', undefined])
    expect(it.updates).toEqual(['a'])
  })

  test('skills that are written in quick succession become visible together if no caller waits', async () => {
    await using it = await open()
    for (const name of ['a', 'b', 'c']) {
      it.files.save(`/one/${name}`, 'new')
      await it.clock.advance(60)
    }
    await it.clock.advance(80)
    expect(it.updates).toEqual(['a', 'b', 'c'])
    it.updates.length = 0
    for (const name of ['a', 'b', 'c', 'd']) {
      it.files.save(`/one/${name}`, 'newer')
      await it.clock.advance(name === 'a' ? 10 : 60)
    }
    await it.clock.advance(80)
    expect(it.updates).toEqual(['a b c d'])
  })

  test('a folder that changes while it is read is read again, and all other folders are published', async () => {
    await using it = await open()
    it.files.save('/one/a', 'new')
    it.files.save('/one/b', 'new')
    it.files.onRead = path => {
      if (!path.startsWith('/one/a/')) return
      it.files.onRead = () => undefined
      it.files.save('/one/a', 'newer')
      it.files.write('/one/a/run.ts', 'newer')
    }
    await it.clock.advance(85)
    expect(it.updates).toEqual(['b'])
    await it.clock.advance(20)
    expect(it.updates).toEqual(['b', 'a'])
    expect(it.skills.current.get('a').files).toHaveLength(2)
    expect(await it.bodyOf('a')).toBe('newer')
  })

  test('a skill folder that moves into a changing folder is never reported as removed', async () => {
    await using it = await open()
    it.files.write('/one/team/notes.txt', 'x')
    await it.clock.advance(3_000)
    it.files.save('/one/b', 'new')
    it.files.rename('/one/a', '/one/team/a')
    it.files.onRead = () => {
      it.files.onRead = () => undefined
      it.files.write('/one/team/notes.txt', 'y')
    }
    for (let at = 0; at < 300; at += 5) {
      await it.clock.advance(5)
      expect(it.skills.current.find('a')).toBeDefined()
    }
    expect(it.skills.current.get('a').location).toBe('team/a')
  })
})

test('if a folder moves while its parent folder is scanned, a caller that asks for another skill never sees the folder as removed', async () => {
  await using it = await open()
  it.files.write('/one/notes/x.txt', 'x')
  let isMoved = false
  it.files.onListed = async path => {
    if (path !== '/one' || isMoved) return
    isMoved = true
    void it.skills.load('c')
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    it.files.rename('/one/a', '/one/moved')
  }
  const gone: number[] = []
  for (let at = 0; at < 200; at += 1) {
    await it.clock.advance(1)
    if (isMoved) it.files.write('/one/notes.txt', String(at))
    if (it.skills.current.find('a') === undefined) gone.push(at)
  }
  expect(gone).toEqual([])
  await it.clock.advance(200)
  expect(it.skills.current.get('a').location).toBe('moved')
})

describe('callers while another process writes continuously', () => {
  /** Writes one edit of a series, like a process that saves again and again. */
  type Edit = (files: InterruptedFileSystem, count: number) => void

  const edits: readonly (readonly [string, Edit])[] = [
    [
      'save two skills together',
      (files, count) => {
        files.save('/one/a', `edit ${count}`)
        files.save('/one/b', `edit ${count}`)
      },
    ],
    [
      'add a folder and remove an older one',
      (files, count) => {
        files.save(`/one/new-${count}`, `edit ${count}`)
        files.remove(`/one/new-${count - 3}/SKILL.md`)
        files.remove(`/one/new-${count - 3}`)
        files.save('/one/a', `edit ${count}`)
      },
    ],
    [
      'replace a folder by a rename',
      (files, count) => {
        files.save('/next/a', `edit ${count}`)
        files.rename('/one/a', `/old/a-${count}`)
        files.rename('/next/a', '/one/a')
        files.save('/one/b', `edit ${count}`)
      },
    ],
  ]

  test.each(edits)('a caller does not wait when later edits %s', async (_, edit) => {
    await using it = await open()
    const waits: number[] = []
    for (let count = 0; count < 60; count++) {
      edit(it.files, count)
      await it.clock.advance(count % 10)
      const askedAt = it.clock.monotonic()
      void it.skills.fresh().then(async () => {
        waits.push(it.clock.monotonic() - askedAt)
        const shown = await it.bodyOf('a')
        expect(Number(shown.split(' ')[1])).toBeGreaterThanOrEqual(count)
      })
      await it.clock.advance(50 - (count % 10))
    }
    await it.clock.advance(100)
    expect(waits).toHaveLength(60)
    expect(Math.max(...waits)).toBeLessThanOrEqual(100)
  })

  test.each([
    ['fresh()', (it: Kit) => it.skills.fresh()],
    ['load()', (it: Kit) => it.skills.load('a')],
  ])('skills that are repeatedly saved together are published together for %s', async (_, call) => {
    await using it = await open()
    for (let count = 0; count < 20; count++) {
      it.files.save('/one/a', `edit ${count}`)
      void call(it)
      it.files.save('/one/b', `edit ${count}`)
      await it.clock.advance(50)
    }
    await it.clock.advance(100)
    expect(new Set(it.updates)).toEqual(new Set(['a b']))
  })

  test('a batch of writes becomes visible in one step even if callers ask during the batch', async () => {
    await using it = await open()
    const names = Array.from({ length: 40 }, (_, i) => `skill-${i + 10}`)
    for (const name of names) it.files.save(`/one/${name}`, 'old')
    await it.clock.advance(3_000)
    it.updates.length = 0
    for (const name of names) {
      it.files.save(`/one/${name}`, 'new')
      await it.clock.advance(1)
      void it.skills.fresh()
      await it.clock.advance(4)
    }
    expect(it.updates).toEqual([])
    await it.clock.advance(100)
    expect(it.updates).toEqual([names.join(' ')])
  })
})

describe('callers when several sources exist', () => {
  test('loading a skill does not wait for a source with a lower precedence', async () => {
    await using it = await open(['/one', '/two'])
    it.files.save('/two/b', 'new')
    expect(await it.hasEnded(it.skills.load('a'), 0)).toBe(true)
  })

  test('loading a skill waits for a source with a higher precedence, because that source may serve the name', async () => {
    await using it = await open(['/one', '/two'])
    it.files.remove('/one/a')
    await it.clock.advance(200)
    expect(it.skills.current.get('a').source).toBe('two')
    it.files.save('/one/a', 'first')
    const load = it.skills.load('a')
    expect(await it.hasEnded(load, 0)).toBe(false)
    expect(await it.hasEnded(load, 100)).toBe(true)
    expect(await load).toMatchObject({ source: 'one', body: 'first' })
  })

  test('with last-wins, the last source has the highest precedence', async () => {
    await using it = await open(['/one', '/two'], 'last-wins')
    it.files.save('/one/b', 'new')
    expect(await it.hasEnded(it.skills.load('a'), 0)).toBe(true)
    it.files.save('/two/a', 'new')
    const load = it.skills.load('a')
    expect(await it.hasEnded(load, 0)).toBe(false)
    expect(await it.hasEnded(load, 100)).toBe(true)
  })

  test('if a skill is removed from one source, load() returns the newest state of the skill in the next source', async () => {
    await using it = await open(['/one', '/two'])
    it.files.remove('/one/a')
    it.files.save('/two/a', 'newest')
    const load = it.skills.load('a')
    await it.clock.advance(200)
    expect(await load).toMatchObject({ source: 'two', body: 'newest' })
  })
})

test('a caller never gets a text that is older than the request, even if a writer saves at the start of each scan', async () => {
  await using kit = await open()
  const { files, clock, skills } = kit
  files.save('/one/a', 'first')
  const call = skills.fresh()
  let saves = 0
  // The writer saves again each time a scan waits.
  files.onResolve = () => {
    if (saves++ < 5) files.save('/one/a', `edit ${saves}`)
  }
  let hasEnded = false
  void call.then(() => (hasEnded = true))
  for (let i = 0; i < 200 && !hasEnded; i++) await clock.advance(1)
  expect(hasEnded).toBe(true)
  expect(await kit.bodyOf('a')).not.toBe('old')
})

describe('a folder that was replaced before a call is read for this call, although a later burst goes on in it', () => {
  test.each([
    ['another folder', (it: Kit) => it.files.rename('/next/a', '/one/a')],
    ['a new folder', (it: Kit) => it.files.save('/one/a', 'new')],
  ])('%s', async (_, place) => {
    await using it = await open()
    it.files.save('/next/a', 'new')
    it.files.rename('/one/a', '/old/a')
    place(it)
    const call = it.skills.load('a')
    for (let at = 0; at < 100; at += 12) {
      await it.clock.advance(12)
      it.files.write('/one/a/log', String(at))
    }
    await it.clock.advance(100)
    expect((await call).body).toBe('new')
  })
})

describe('a caller whose skill cannot be read never gets an older text', () => {
  const failureOf = async (call: Promise<unknown>): Promise<unknown> =>
    await call.then(
      () => 'no error',
      (thrown: unknown) => thrown,
    )

  test('load() fails with TIMED_OUT while a known writer keeps the source locked', async () => {
    const files = new InterruptedFileSystem()
    files.save('/one/a', 'old')
    const clock = new FakeClock()
    let isLocked = false
    const source = new FileSource({
      ...{ fileSystem: files, root: '/one', label: 'one', clock },
      isBusy: async () => isLocked,
    })
    await using skills = await createSkillRuntime({ sources: [source], clock })
    isLocked = true
    files.save('/one/a', 'new')
    const call = failureOf(skills.load('a'))
    await clock.advance(5_000)
    expect(await call).toMatchObject({ code: 'TIMED_OUT', data: { limitMs: 5_000 } })
    isLocked = false
    const next = skills.load('a')
    await clock.advance(200)
    expect((await next).body).toBe('new')
    isLocked = true
    files.save('/one/a', 'newer')
    const slash = failureOf(skills.expandSlash('/a'))
    const other = skills.expandSlash('/etc is full')
    await clock.advance(5_000)
    expect(await slash).toMatchObject({ code: 'TIMED_OUT' })
    expect(await other).toEqual({ text: '/etc is full' })
    isLocked = false
    await clock.advance(200)
  })

  test('load() fails with TIMED_OUT if a folder changes during every read, and other skills stay loadable', async () => {
    await using it = await open()
    const { revision } = it.skills.current.get('a')
    let writes = 0
    it.files.onRead = path => {
      if (path.startsWith('/one/a/')) it.files.write('/one/a/log', String(++writes))
    }
    it.files.save('/one/a', 'new')
    const call = failureOf(it.skills.load('a'))
    await it.clock.advance(2_100)
    expect(await call).toMatchObject({ code: 'TIMED_OUT', data: { lastComplete: revision } })
    const other = it.skills.load('b')
    await it.clock.advance(100)
    expect((await other).body).toBe('old')
    const reloads = Promise.all([it.skills.reload(), it.skills.reloadSkill('a')])
    await it.clock.advance(2_100)
    const [all, one] = await reloads
    expect(all.errors).toMatchObject([{ source: 'one', message: expect.stringContaining('keeps changing') }])
    expect(one).toMatchObject({ status: 'failed', errors: [{ source: 'one', skill: 'a' }] })
    const whole = it.skills.fresh()
    await it.clock.advance(2_100)
    const findings = (await whole).sources().flatMap(({ diagnostics }) => diagnostics)
    expect(findings).toMatchObject([{ code: 'FOLDER_UNSTABLE' }])
    it.files.onRead = () => undefined
    const next = it.skills.load('a')
    await it.clock.advance(2_100)
    expect((await next).body).toBe('new')
  })

  test('load() fails with TIMED_OUT in a root that is itself a skill, and for a new skill that never came to rest', async () => {
    await using it = await open()
    it.files.save('/one', 'the root')
    await it.clock.advance(3_000)
    let writes = 0
    it.files.onRead = path => {
      if (/^\/one\/(?:a|new)\//.test(path)) it.files.write(`${path}.log`, String(++writes))
    }
    it.files.save('/one/a', 'new')
    it.files.save('/one/new', 'first')
    const names = ['a', 'new', 'one', 'b']
    const calls = Promise.all(names.map(async name => await failureOf(it.skills.load(name))))
    await it.clock.advance(2_200)
    const timedOut = expect.objectContaining({ code: 'TIMED_OUT' })
    expect(await calls).toEqual([timedOut, timedOut, timedOut, 'no error'])
  })

  test('load() answers the pinned text of a skill whose folder never comes to rest', async () => {
    await using it = await open()
    await it.skills.review.pin('a')
    let writes = 0
    it.files.onRead = path => {
      if (path.startsWith('/one/a/')) it.files.write('/one/a/log', String(++writes))
    }
    it.files.save('/one/a', 'new')
    const call = it.skills.load('a')
    await it.clock.advance(2_200)
    expect((await call).body).toBe('old')
  })
})
