import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { GitRepository } from '../../../tests/fixtures/git-repository.ts'
import { GitServer } from '../../../tests/fixtures/git-server.ts'
import { DEFAULT_POLL_INTERVAL_MS, type GitHubPollingWatcherOptions } from './github-polling-watcher.ts'
import {
  EventBus,
  GitHubPollingWatcher,
  LocalFileWatcher,
  type SkillChangeEvent,
  SkillRegistry,
  SkillSyncManager,
} from './index.ts'

const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

let server: GitServer
let repository: GitRepository
let folder: string
let count = 0
let name: string

beforeAll(async () => {
  server = await GitServer.start()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'github-'))
  name = `skills-${count++}`
  repository = server.create(name)
  // The server offers each repository under the path that GitHub would use: `/org/<name>.git`.
  server.intercept = request => {
    request.url = request.url?.replace('/org/', '/') ?? '/'
    return false
  }
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const options = (): GitHubPollingWatcherOptions => ({
  pollIntervalMs: 50,
  cacheDirectory: folder,
  baseUrl: `http://${server.host}`,
  privateHosts: [server.host],
})

const url = (rest = ''): string => `http://${server.host}/org/${name}${rest}`

async function next(batches: AsyncIterator<readonly SkillChangeEvent[]>): Promise<string[]> {
  const { value } = await batches.next()
  return (value as readonly SkillChangeEvent[]).map(({ kind, skillName }) => `${kind} ${skillName}`)
}

/** Collects the lines of a logger as they arrive. */
function recordLog(): { logger: Logger; find: (pattern: RegExp) => Promise<string> } {
  const lines: string[] = []
  let wake = (): void => undefined
  const log = (message: string, data?: Readonly<Record<string, unknown>>): void => {
    lines.push(
      `${message}: ${data?.['error'] instanceof Error ? data['error'].message : String(data?.['problem'])}`,
    )
    wake()
  }
  const find = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const line = lines.find(each => pattern.test(each))
      if (line !== undefined) return line
      await new Promise<void>(resolve => (wake = resolve))
    }
  }
  return { logger: { debug: () => undefined, info: () => undefined, warn: log, error: log }, find }
}

test(`a manager reports each commit of a skill with an executable file once, also after a stop ${verifies('EXO-12', 'EXO-19', 'EXO-B02')}`, async () => {
  const commit = (n: number): void => {
    const parent = repository.find('refs/heads/main')
    const files = [
      ['100644', 'a/SKILL.md', text('a', `Body ${n}.`)],
      ['100755', 'a/run.sh', `echo ${n}\n`],
    ]
    const lines = [
      'commit refs/heads/main',
      `committer Ada <ada@example.com> ${1_700_000_000 + n} +0000`,
      'data 1\nx',
      ...(parent === undefined ? [] : [`from ${parent}`]),
      ...files.map(
        ([mode, path, content = '']) => `M ${mode} inline ${path}\ndata ${content.length}\n${content}`,
      ),
    ]
    repository.git('fast-import', '--quiet', '--force', { input: `${lines.join('\n')}\n` })
  }
  commit(0)
  const { pollIntervalMs: _, ...rest } = options()
  await using registry = new SkillRegistry().registerSource(url(), rest)
  await registry.loadAll()
  const eventBus = new EventBus()
  const told: string[] = []
  let onTold = (): void => undefined
  eventBus.on('skill:modified', ({ newSkill }) => {
    told.push((newSkill as { readonly usage: string }).usage)
    onTold()
  })
  const manager = new SkillSyncManager(registry, {}, { eventBus })
  manager.addWatcher(new GitHubPollingWatcher(url(), options()))
  await manager.start()
  for (const n of [1, 2]) {
    const isTold = new Promise<void>(resolve => (onTold = resolve))
    commit(n)
    await isTold
    await manager.stop()
    await manager.start()
  }
  await manager.stop()
  await registry.loadAll()
  expect(told).toEqual(['Body 1.', 'Body 2.'])
})

describe('GitHubPollingWatcher', () => {
  test(`the watcher polls a folder of a branch, and never yields an empty batch ${verifies('EXO-33', 'EXO-34', 'EXO-35', 'EXO-36', 'EXO-37', 'EXO-02', 'EXO-44')}`, async () => {
    expect(DEFAULT_POLL_INTERVAL_MS).toBe(300_000)
    repository.commit({
      'skills/a/SKILL.md': text('a'),
      'skills/b/SKILL.md': text('b'),
      'other/c/SKILL.md': text('c'),
    })
    const watcher = new GitHubPollingWatcher(url('/tree/main/skills'), options())
    const batches = watcher.watch()
    const first = next(batches)
    await watcher.ready
    repository.commit({ 'README.md': 'Nothing of a skill.' })
    repository.commit({
      'skills/a/SKILL.md': text('a', 'Newer.'),
      'skills/b': null,
      'skills/d/SKILL.md': text('d'),
    })
    expect(await first).toEqual(['added d', 'removed b', 'modified a'])
    const polls = server.requests.length
    repository.commit({ 'README.md': 'Still nothing.' })
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(polls + 6))
    repository.commit({ 'skills/a/SKILL.md': text('a', 'Newest.') })
    expect(await next(batches)).toEqual(['modified a'])
    watcher.stop()
    expect((await batches.next()).done).toBe(true)
  })

  test(`after stop(), a new watch() of the GitHub watcher first reports the changes since stop() ${verifies('EXO-38', 'EXO-B12', 'EXO-B02')}`, async () => {
    repository.commit({ 'a/SKILL.md': text('a') })
    const watcher = new GitHubPollingWatcher(url(), options())
    const batches = watcher.watch()
    const end = batches.next()
    await watcher.ready
    watcher.stop()
    expect((await end).done).toBe(true)
    const requests = server.requests.length
    repository.commit({ 'b/SKILL.md': text('b') })
    expect(server.requests).toHaveLength(requests)
    const again = watcher.watch()
    expect(await next(again)).toEqual(['added b'])
    watcher.stop()
    await again.next()
  })

  test(`a URL may name a branch with slashes, may end in .git, and may omit the branch ${verifies('EXO-B11', 'EXO-X06', 'P32')}`, async () => {
    repository.git('symbolic-ref', 'HEAD', 'refs/heads/trunk')
    repository.commit({ 'a/SKILL.md': text('a') }, { branch: 'trunk' })
    repository.commit({ 'skills/b/SKILL.md': text('b') }, { branch: 'feature/x' })
    const found: string[][] = []
    for (const rest of ['', '.git', '/tree/feature/x/skills', '/tree/trunk']) {
      await using registry = new SkillRegistry().registerSource(url(rest), options())
      await registry.loadAll()
      found.push([...registry.listNames()])
    }
    expect(found).toEqual([['a'], ['a'], ['b'], ['a']])
  })

  test(`the watcher ignores a force-push with a warning, and accepts the next fast-forward ${verifies('EXO-B11', 'P32')}`, async () => {
    const first = repository.commit({ 'a/SKILL.md': text('a') })
    const log = recordLog()
    const watcher = new GitHubPollingWatcher(url(), { ...options(), logger: log.logger })
    const batches = watcher.watch()
    const batch = next(batches)
    await watcher.ready
    repository.commit({ 'evil/SKILL.md': text('evil') }, { parent: null })
    expect(await log.find(/history was rewritten/)).toMatch(/^a source has a problem: .*update: 'reset'/)
    repository.git('update-ref', 'refs/heads/main', first)
    repository.commit({ 'b/SKILL.md': text('b') })
    expect(await batch).toEqual(['added b'])
    watcher.stop()
    await batches.next()
  })

  test(`a force-push is accepted if the option "update" allows it ${verifies('P32')}`, async () => {
    repository.commit({ 'a/SKILL.md': text('a') })
    const watcher = new GitHubPollingWatcher(url(), { ...options(), update: 'reset' })
    const batches = watcher.watch()
    const batch = next(batches)
    await watcher.ready
    repository.commit({ 'b/SKILL.md': text('b') }, { parent: null })
    expect(await batch).toEqual(['added b', 'removed a'])
    watcher.stop()
    await batches.next()
  })

  test.each([
    'https://github.com/org',
    'https://github.com/../skills',
    'https://github.com/org/..',
    'not a url',
    'https://user:secret@github.com/org/x',
  ])(`the constructor rejects the invalid URL %j ${verifies('EXO-X11', 'EXO-B11')}`, bad => {
    expect(() => new GitHubPollingWatcher(bad)).toThrow(/^Invalid GitHub URL: /)
  })

  test(`a failed poll is logged with exit code and error output, and polling continues ${verifies('EXO-X11')}`, async () => {
    repository.commit({ 'a/SKILL.md': text('a') })
    const log = recordLog()
    const watcher = new GitHubPollingWatcher(url(), { ...options(), logger: log.logger })
    const batches = watcher.watch()
    const batch = next(batches)
    await watcher.ready
    const { intercept } = server
    server.intercept = (_, response) => {
      response.writeHead(500).end()
      return true
    }
    expect(await log.find(/git ls-remote failed/)).toMatch(/failed with 128: .*500/)
    server.intercept = intercept
    repository.commit({ 'b/SKILL.md': text('b') })
    expect(await batch).toEqual(['added b'])
    watcher.stop()
    await batches.next()
  })

  test(`if git cannot be started, the failure is logged and polling continues ${verifies('EXO-X11')}`, async () => {
    repository.commit({ 'a/SKILL.md': text('a') })
    const log = recordLog()
    vi.stubEnv('PATH', join(folder, 'nothing'))
    const watcher = new GitHubPollingWatcher(url(), { ...options(), logger: log.logger })
    const batches = watcher.watch()
    const batch = next(batches)
    await log.find(/git is not installed/)
    vi.unstubAllEnvs()
    expect(await batch).toEqual(['added a'])
    watcher.stop()
    await batches.next()
  })

  test(`loadAll() rejects if the URL names a folder that the repository does not contain ${verifies('EXO-X06')}`, async () => {
    repository.commit({ 'a/SKILL.md': text('a') })
    await using registry = new SkillRegistry().registerSource(url('/tree/main/nope'), options())
    await expect(registry.loadAll()).rejects.toThrow(/no folder "nope"/)
  })

  test(`events of the watcher apply to the registered repository, not to a folder with the same name ${verifies('EXO-42', 'EXO-B07')}`, async () => {
    repository.commit({ 'skills/shared/SKILL.md': text('shared') })
    mkdirSync(join(folder, 'local/shared'), { recursive: true })
    writeFileSync(join(folder, 'local/shared/SKILL.md'), text('shared', 'Local.'))
    await using registry = new SkillRegistry()
      .registerSource(join(folder, 'local'))
      .registerSource(url('/tree/main/skills'), options())
    await registry.loadAll()
    const eventBus = new EventBus()
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    manager.addWatcher(new GitHubPollingWatcher(url('/tree/main/skills'), options()))
    await manager.start()
    const added = new Promise(resolve => eventBus.on('skill:added', resolve))
    repository.commit({
      'skills/shared/SKILL.md': text('shared', 'Newer.'),
      'skills/maps/SKILL.md': text('maps'),
    })
    await added
    const { name: _name, ...maps } = registry.get('maps')
    expect([registry.get('shared').usage, maps]).toMatchObject(['Local.', { path: 'maps/SKILL.md' }])
    const removed = new Promise(resolve => eventBus.on('skill:removed', resolve))
    repository.commit({ 'skills/shared': null, 'skills/maps': null, 'skills/other/SKILL.md': text('other') })
    await removed
    expect([...registry.skills.values()].map(({ name, usage }) => [name, usage])).toEqual([
      ['other', 'Body of other.'],
      ['shared', 'Local.'],
    ])
  })

  test(`one manager can use a GitHubPollingWatcher and a local watcher at the same time ${verifies('EXO-42')}`, async () => {
    repository.commit({ 'skills/shared/SKILL.md': text('shared') })
    const local = join(folder, 'local')
    await using registry = new SkillRegistry().registerSource(url('/tree/main/skills'), options())
    await registry.loadAll()
    expect(registry.listNames()).toEqual(['shared'])
    const eventBus = new EventBus()
    await using manager = new SkillSyncManager(registry, {}, { eventBus })
    const gitHub = new GitHubPollingWatcher(url('/tree/main/skills'), options())
    const disk = new LocalFileWatcher(folder, { debounceMs: 10 })
    manager.addWatcher(disk)
    manager.addWatcher(gitHub)
    const both = new Promise<void>(resolve => {
      const seen = new Set<string>()
      const note = (kind: string) => (): void => {
        seen.add(kind)
        if (seen.size === 2) resolve()
      }
      eventBus.on('skill:added', note('added'))
      eventBus.on('skill:modified', note('modified'))
    })
    await manager.start()
    await Promise.all([gitHub.ready, disk.ready])
    writeFileSync(`${local}.md`, 'no skill')
    writeFileSync(join(folder, 'SKILL.md'), text('local'))
    repository.commit({ 'skills/shared/SKILL.md': text('shared', 'Newer.') })
    await both
    expect(registry.listNames()).toEqual(['local', 'shared'])
    expect(registry.get('shared').usage).toBe('Newer.')
    await manager.stop()
  })
})
