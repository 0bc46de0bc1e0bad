import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { createSkillRuntime, type Logger } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { verifies } from '@skillstoke/requirements'
import { afterEach, describe, expect, test } from 'vitest'
import {
  EventBus,
  fromWatcher,
  LocalFileWatcher,
  type SkillChangeFields,
  SkillRegistry,
  SkillSyncManager,
  type SkillWatcherLike,
} from './index.ts'

const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

interface Folder {
  readonly path: string
  write(path: string, content: string): void
  remove(path: string): void
}

function folder(files: Readonly<Record<string, string>> = {}): Folder {
  const path = mkdtempSync(join(tmpdir(), 'exo-sources-'))
  folders.push(path)
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), content)
  }
  for (const [file, content] of Object.entries(files)) write(file, content)
  return { path, write, remove: file => rmSync(join(path, file), { recursive: true }) }
}

/** A watcher that yields a batch when a test calls `put`. `put` resolves when the batch was handled. */
class Batches implements SkillWatcherLike {
  #next = Promise.withResolvers<{ batch: readonly SkillChangeFields[]; done: () => void } | undefined>()

  async put(...batch: readonly SkillChangeFields[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#next.resolve({ batch, done: resolve })
    await promise
  }

  async *watch(): AsyncGenerator<readonly SkillChangeFields[], void, undefined> {
    for (;;) {
      const next = await this.#next.promise
      if (next === undefined) return
      this.#next = Promise.withResolvers()
      yield next.batch
      next.done()
    }
  }

  stop(): void {
    this.#next.resolve(undefined)
  }
}

const event = (
  kind: SkillChangeFields['kind'],
  name: string,
  sourcePath: string,
  body = '',
): SkillChangeFields => ({
  kind,
  skillName: name,
  skill: kind === 'removed' ? null : { name, description: `Does ${name}.`, body },
  sourcePath,
})

const usages = (registry: SkillRegistry): Record<string, string> =>
  Object.fromEntries([...registry.skills].map(([name, { usage }]) => [name, usage]))

test(`a skill of fromWatcher() has the revision of its folder, with executable files ${verifies('EXO-04')}`, async () => {
  const watched = folder()
  const watcher = new LocalFileWatcher(watched.path, { debounceMs: 10 })
  await using skills = await createSkillRuntime({ sources: [fromWatcher(watcher, { label: 'watched' })] })
  await watcher.ready
  const added = new Promise(resolve => skills.events.on('skill:added', resolve))
  const apart = folder({ 'pdf/SKILL.md': text('pdf') })
  writeFileSync(join(apart.path, 'pdf/run.sh'), 'echo\n', { mode: 0o755 })
  renameSync(join(apart.path, 'pdf'), join(watched.path, 'pdf'))
  await added
  await using direct = await createSkillRuntime({ sources: [directory(watched.path)] })
  const { files, revision } = skills.current.get('pdf')
  expect(files.map(({ path, isExecutable }) => [path, isExecutable])).toEqual([
    ['SKILL.md', false],
    ['run.sh', true],
  ])
  expect(revision).toBe(direct.current.get('pdf').revision)
})

test(`registerSource() takes ssh addresses as repositories, as GitHubPollingWatcher does ${verifies('EXO-B11')}`, async () => {
  for (const url of ['git@127.0.0.1:acme/skills.git', 'ssh://git@127.0.0.1/acme/skills.git']) {
    await using registry = new SkillRegistry().registerSource(url, { cacheDirectory: folder().path })
    await expect(registry.loadAll()).rejects.toThrow('127.0.0.1 is at 127.0.0.1, in a private network')
  }
})

describe('an event', () => {
  test(`an event changes only the skill of its own source, not a skill of the same name in another source ${verifies('EXO-42', 'EXO-B07')}`, async () => {
    const registered = folder({ 'pdf/SKILL.md': text('pdf', 'Registered.') })
    const watched = folder({ 'pdf/SKILL.md': text('pdf', 'Watched.') })
    await using registry = new SkillRegistry().registerSource(registered.path)
    await registry.loadAll()
    const eventBus = new EventBus()
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    manager.addWatcher(new LocalFileWatcher(watched.path, { debounceMs: 10 }))
    await manager.start()
    const added = new Promise(resolve => eventBus.on('skill:added', resolve))
    watched.write('pdf/SKILL.md', text('pdf', 'Newer.'))
    watched.write('maps/SKILL.md', text('maps'))
    await added
    expect(usages(registry)).toEqual({ maps: 'Body of maps.', pdf: 'Registered.' })
    const removed = new Promise(resolve => eventBus.on('skill:removed', resolve))
    watched.remove('pdf')
    watched.remove('maps')
    await removed
    expect(usages(registry)).toEqual({ pdf: 'Registered.' })
  })

  test(`events about several skills may all name the folder of their source as sourcePath ${verifies('EXO-10')}`, async () => {
    const local = folder({ 'pdf/SKILL.md': text('pdf'), 'deep/down/maps/SKILL.md': text('maps') })
    const other = folder({ 'pdf/SKILL.md': text('pdf', 'Other.') })
    await using registry = new SkillRegistry({ conflictStrategy: 'keep_last' })
      .registerSource(local.path)
      .registerSource(other.path)
    await registry.loadAll()
    const watcher = new Batches()
    await using manager = new SkillSyncManager(registry, {})
    manager.addWatcher(watcher)
    await manager.start()
    for (const source of [local.path, `${local.path}/`, relative(process.cwd(), local.path)]) {
      await watcher.put(
        event('added', 'a', source, 'A'),
        event('added', 'b', source, 'B'),
        event('modified', 'maps', source, 'Newer.'),
        event('modified', 'pdf', source, 'Covered by the other.'),
      )
      expect(usages(registry)).toEqual({ a: 'A', b: 'B', maps: 'Newer.', pdf: 'Other.' })
      expect(registry.get('maps').path).toBe(join(local.path, 'deep/down/maps/SKILL.md'))
      expect(registry.get('b').path).toBe(join(local.path, 'b/SKILL.md'))
      await watcher.put(event('removed', 'a', source), event('modified', 'b', source, 'BB'))
      expect(usages(registry)).toEqual({ b: 'BB', maps: 'Newer.', pdf: 'Other.' })
      await watcher.put(event('removed', 'b', source))
    }
    await watcher.put(event('removed', 'pdf', other.path))
    expect(usages(registry)).toEqual({ maps: 'Newer.', pdf: 'Covered by the other.' })
  })

  test('an event of LocalFileWatcher names the watched folder, and the skill in the event names the skill folder', async () => {
    const local = folder()
    const watcher = new LocalFileWatcher(local.path, { debounceMs: 10 })
    const batches = watcher.watch()
    const first = batches.next()
    await watcher.ready
    local.write('a/SKILL.md', text('a'))
    local.write('b/SKILL.md', text('b'))
    const { value } = await first
    expect(
      (value as readonly SkillChangeFields[]).map(({ sourcePath, skill }) => [sourcePath, skill?.path]),
    ).toEqual([
      [local.path, join(local.path, 'a/SKILL.md')],
      [local.path, join(local.path, 'b/SKILL.md')],
    ])
    watcher.stop()
    await batches.next()
  })

  test('an event applies to each registered folder that contains its sourcePath, even if SKILL.md has another letter case', async () => {
    const outer = folder({ 'team/pdf/skill.md': text('pdf') })
    const inner = join(outer.path, 'team')
    await using registry = new SkillRegistry().registerSource(outer.path).registerSource(inner)
    await registry.loadAll()
    const eventBus = new EventBus()
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    manager.addWatcher(new LocalFileWatcher(inner, { debounceMs: 10 }))
    await manager.start()
    const modified = new Promise(resolve => eventBus.on('skill:modified', resolve))
    outer.write('team/pdf/skill.md', text('pdf', 'Newer.'))
    await modified
    expect(usages(registry)).toEqual({ pdf: 'Newer.' })
    const removed = new Promise(resolve => eventBus.on('skill:removed', resolve))
    outer.remove('team/pdf')
    await removed
    expect(usages(registry)).toEqual({})
  })
})

describe('a change between loadAll() and start()', () => {
  test(`a change between loadAll() and start() is in the registry, and is reported after start() ${verifies('EXO-B02', 'EXO-01')}`, async () => {
    const local = folder({ 'a/SKILL.md': text('a'), 'b/SKILL.md': text('b'), 'c/SKILL.md': text('c') })
    const unwatched = folder({ 'x/SKILL.md': text('x') })
    await using registry = new SkillRegistry().registerSource(local.path).registerSource(unwatched.path)
    await registry.loadAll()
    local.write('a/SKILL.md', text('a', 'Newer.'))
    local.remove('b')
    local.write('d/SKILL.md', text('d'))
    unwatched.write('x/SKILL.md', text('x', 'Newer.'))
    const eventBus = new EventBus()
    const told: string[] = []
    for (const name of ['skill:added', 'skill:removed', 'skill:modified'])
      eventBus.on(name, () => void told.push(name))
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    manager.addWatcher(new LocalFileWatcher(local.path, { debounceMs: 10 }))
    await manager.start()
    expect(usages(registry)).toEqual({
      a: 'Newer.',
      c: 'Body of c.',
      d: 'Body of d.',
      x: 'Body of x.',
    })
    expect(told).toEqual(['skill:added', 'skill:removed', 'skill:modified'])
  })

  test('if a folder is removed between loadAll() and start(), its skills are not served until the folder exists again', async () => {
    const local = folder({ 'skills/a/SKILL.md': text('a') })
    await using registry = new SkillRegistry().registerSource(join(local.path, 'skills'))
    await registry.loadAll()
    local.remove('skills')
    const eventBus = new EventBus()
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    manager.addWatcher(new LocalFileWatcher(join(local.path, 'skills'), { debounceMs: 10 }))
    await manager.start()
    expect(usages(registry)).toEqual({})
    const added = new Promise(resolve => eventBus.on('skill:added', resolve))
    local.write('skills/a/SKILL.md', text('a'))
    await added
    expect(usages(registry)).toEqual({ a: 'Body of a.' })
  })

  test('start() loads nothing into a registry that was never loaded', async () => {
    const local = folder({ 'a/SKILL.md': text('a') })
    await using registry = new SkillRegistry().registerSource(local.path)
    await using manager = new SkillSyncManager(registry, {})
    manager.addWatcher(new LocalFileWatcher(local.path, { debounceMs: 10 }))
    await manager.start()
    expect(registry.listNames()).toEqual([])
  })
})

test(`the registry and a watcher each log a broken skill as a warning ${verifies('EXO-B09')}`, async () => {
  const local = folder({ 'ok/SKILL.md': text('ok'), 'bad/SKILL.md': '---\nname: "bad\n---\n' })
  const lines: string[] = []
  const warn = (message: string, data: Readonly<Record<string, unknown>> = {}): void =>
    void lines.push(`${message}: ${String(data['skill'])}`)
  const quiet = (): void => undefined
  const logger: Logger = { debug: quiet, info: quiet, warn, error: quiet }
  await using registry = new SkillRegistry({ logger }).registerSource(local.path)
  await registry.loadAll()
  expect([registry.listNames(), lines.splice(0)]).toEqual([
    ['ok'],
    ['a skill is broken and cannot be served: bad'],
  ])
  const watcher = new LocalFileWatcher(local.path, { logger })
  const batches = watcher.watch()
  const end = batches.next()
  await watcher.ready
  watcher.stop()
  await end
  expect(lines).toEqual(['a skill is broken and cannot be served: bad'])
})
