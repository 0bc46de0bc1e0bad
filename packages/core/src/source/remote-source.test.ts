import { expect, test } from 'vitest'
import {
  createSkillRuntime,
  type Diagnostic,
  renderSkillText,
  SkillError,
  type SkillRuntime,
} from '../index.ts'
import {
  type FetchContext,
  type FetchResult,
  FileSource,
  type FileTree,
  MemoryFileSystem,
  MemorySkillStore,
  NO_SETTLE,
  portableHasher,
  RemoteSource,
  type RemoteSourceOptions,
  type SkillSource,
  type TreeFetcher,
} from '../source-entry.ts'
import { FakeClock, type SourceSubject, sourceConformance } from '../testing/index.ts'

const encoder = new TextEncoder()

/** A remote origin that runs in this process. Each test sets the files and the answers of the origin. */
class Place implements TreeFetcher {
  readonly files = new Map<string, string>()
  stored: FileTree | undefined
  fetches = 0
  isClosed = false
  /** Called before each answer. */
  answer: (signal: AbortSignal) => void | Promise<void> = () => undefined

  async restore(): Promise<FileTree | undefined> {
    return this.stored
  }

  async fetch({ signal, known }: FetchContext): Promise<FetchResult> {
    this.fetches++
    await this.answer(signal)
    const tree = this.tree()
    return tree.version === known?.version ? {} : { tree }
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  tree(): FileTree {
    const files = [...this.files].map(([path, content]) => {
      const bytes = encoder.encode(content)
      const id = portableHasher.sha256(bytes)
      return {
        path,
        kind: 'file',
        size: bytes.length,
        isExecutable: false,
        id,
        read: async () => bytes,
      } as const
    })
    return { version: portableHasher.sha256(JSON.stringify([...this.files])), files }
  }

  put(name: string, body: string): void {
    this.files.set(`${name}/SKILL.md`, renderSkillText({ name, description: 'Does it.', body }))
  }
}

const never = new Promise<never>(() => undefined)

function open(place: Place, options: Partial<RemoteSourceOptions> = {}): Promise<SkillRuntime> {
  const clock = options.clock ?? new FakeClock()
  const source = new RemoteSource(place, {
    label: 'team',
    origin: 'https://x.test/a',
    trust: 'auto',
    ...options,
    clock,
  })
  return createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE }, clock })
}

function subject(): SourceSubject {
  const place = new Place()
  const source = new RemoteSource(place, { label: 'team', origin: 'https://x.test/a', trust: 'auto' })
  return {
    source,
    put: (path, content) => void place.files.set(path, content),
    remove: name => {
      for (const path of place.files.keys()) if (path.startsWith(`${name}/`)) place.files.delete(path)
    },
  }
}

for (const each of sourceConformance)
  test(`a remote source: ${each.name}`, async () => {
    await each.check(subject())
  })

test('a remote source serves its stored copy immediately while the network does not answer', async () => {
  const place = new Place()
  place.put('pdf', 'Old.')
  place.stored = place.tree()
  place.answer = () => never
  await using skills = await open(place)
  expect(skills.current.get('pdf').name).toBe('pdf')
  expect(skills.status()[0]?.lastReadAt).toBeUndefined()
})

test('a tree that arrives in the background becomes visible without a request', async () => {
  const place = new Place()
  place.put('pdf', 'Old.')
  place.stored = place.tree()
  const arrival = Promise.withResolvers<void>()
  place.answer = () => arrival.promise
  await using skills = await open(place)
  place.put('pdf', 'New.')
  const [next] = [nextGeneration(skills)]
  arrival.resolve()
  await next
  expect((await skills.load('pdf')).body).toBe('New.')
  expect(skills.status()[0]?.lastReadAt).toBeDefined()
})

test('the first start waits for a source without a stored copy, at most firstWaitMs', async () => {
  const clock = new FakeClock()
  const place = new Place()
  const arrival = Promise.withResolvers<void>()
  place.answer = () => arrival.promise
  place.put('pdf', 'Here.')
  const opening = open(place, { clock, firstWaitMs: 200 })
  await clock.advance(199)
  expect(await Promise.race([opening, Promise.resolve('waits')])).toBe('waits')
  await clock.advance(1)
  await using skills = await opening
  expect(skills.current.sources()[0]?.diagnostics).toMatchObject([
    { code: 'SOURCE_AWAITED', severity: 'info' },
  ])
  const next = nextGeneration(skills)
  arrival.resolve()
  await next
  expect(skills.current.list().map(({ name }) => name)).toEqual(['pdf'])
  expect(skills.current.sources()[0]?.diagnostics).toEqual([])
})

test('a failing source keeps its skills, reports the failure, and is retried at growing intervals', async () => {
  const clock = new FakeClock()
  const place = new Place()
  place.put('pdf', 'Body.')
  await using skills = await open(place, { clock })
  const { digest } = skills.current
  place.answer = () => {
    throw new SkillError('IO_FAILED', 'connection refused')
  }
  await skills.reload()
  const waits: (number | undefined)[] = []
  for (let i = 0; i < 12; i++) {
    const [status] = skills.status()
    expect(status).toMatchObject({ failures: i + 1, lastError: 'connection refused' })
    waits.push(status?.retryMs)
    await clock.advance(status?.retryMs ?? 0)
  }
  // The random number of this clock is always 0.5, so each wait is half of the longest possible wait.
  expect(waits).toEqual([1000, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 150000, 150000, 150000])
  expect(skills.current.digest).toBe(digest)
  place.answer = () => undefined
  place.put('pdf', 'Another.')
  await clock.advance(150_000)
  expect(skills.status()[0]).toMatchObject({ failures: 0 })
  expect((await skills.load('pdf')).body).toBe('Another.')
})

test('after a server has answered with retryAfterMs, a source sends no request to the server until this time has passed', async () => {
  const clock = new FakeClock()
  const place = new Place()
  place.answer = () => {
    throw new SkillError('IO_FAILED', 'too many requests', { data: { retryAfterMs: 90_000 } })
  }
  await using skills = await open(place, { clock })
  expect(skills.status()[0]?.retryMs).toBe(90_000)
  await clock.advance(89_999)
  expect(place.fetches).toBe(1)
  await clock.advance(1)
  expect(place.fetches).toBe(2)
})

test('a fetch that never ends times out, and the error names the timeout', async () => {
  const clock = new FakeClock()
  const place = new Place()
  place.put('pdf', 'Body.')
  await using skills = await open(place, { clock, timeoutMs: 5000 })
  let signalled: unknown
  place.answer = signal =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        signalled = signal.reason
        reject(new Error('stopped'))
      }),
    )
  const reloading = skills.reload()
  await clock.advance(5000)
  await reloading
  expect(signalled).toBeInstanceOf(SkillError)
  expect(skills.status()[0]?.lastError).toBe('https://x.test/a did not answer within 5000 ms')
  expect(skills.current.list()).toHaveLength(1)
})

test('continuing a conversation and loading a skill do not wait for another machine', async () => {
  const place = new Place()
  place.put('pdf', 'Body.')
  await using skills = await open(place)
  const session = skills.session({ id: 'chat' })
  place.answer = () => never
  await session.update()
  await skills.load('pdf')
  await skills.fresh()
  expect(place.fetches).toBe(1)
  skills.reload().catch(() => undefined) // pending forever
  await session.update()
  await skills.load('pdf')
  await skills.fresh()
})

test('a failed fetch is still reported after a scan of the stored files', async () => {
  const clock = new FakeClock()
  const place = new Place()
  place.put('pdf', 'Body.')
  await using skills = await open(place, { clock })
  place.answer = () => {
    throw new SkillError('IO_FAILED', 'connection refused')
  }
  await skills.reload()
  await skills.load('pdf')
  await skills.fresh()
  expect(skills.status()[0]).toMatchObject({ failures: 1, lastError: 'connection refused', retryMs: 1000 })
  expect(skills.current.sources()[0]?.diagnostics.map(({ code }) => code)).toEqual(['SOURCE_FAILED'])
})

test('reload() waits for a fetch that begins after the call', async () => {
  const place = new Place()
  place.put('pdf', 'First.')
  place.stored = place.tree()
  const arrival = Promise.withResolvers<void>()
  place.answer = () => arrival.promise
  await using skills = await open(place)
  const reloading = skills.reload()
  arrival.resolve()
  place.put('pdf', 'Second.')
  await reloading
  expect(place.fetches).toBe(2)
  expect((await skills.load('pdf')).body).toBe('Second.')
})

test('a remote source fetches at intervals, and close() aborts a running fetch', async () => {
  const clock = new FakeClock()
  const place = new Place()
  const skills = await open(place, { clock, pollMs: 60_000 })
  expect(skills.status()[0]).toMatchObject({ mode: 'polling', nextReadMs: 60_000 })
  await clock.advance(60_000)
  expect(place.fetches).toBe(2)
  let isStopped = false
  place.answer = signal =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        isStopped = true
        reject(new Error('stopped'))
      }),
    )
  await clock.advance(60_000)
  await skills.close()
  expect([isStopped, place.isClosed]).toEqual([true, true])
})

test('a source with manual polling fetches nothing while a stored copy exists', async () => {
  const clock = new FakeClock()
  const place = new Place()
  place.put('pdf', 'Old.')
  place.stored = place.tree()
  await using skills = await open(place, { clock, polling: 'manual' })
  await clock.advance(10_000_000)
  expect([place.fetches, skills.status()[0]?.mode, skills.current.list().length]).toEqual([0, 'manual', 1])
  place.put('pdf', 'New.')
  await skills.reload()
  expect((await skills.load('pdf')).body).toBe('New.')
})

test('files whose paths leave their folder or collide with another path are left out and reported', async () => {
  const place = new Place()
  place.put('pdf', 'Body.')
  for (const path of ['../evil/SKILL.md', '/etc/SKILL.md', 'a//SKILL.md', 'pdf/SKILL.md/x'])
    place.files.set(path, 'x')
  await using skills = await open(place)
  expect(skills.current.list().map(({ name }) => name)).toEqual(['pdf'])
  const told = skills.current
    .sources()[0]
    ?.diagnostics.map(({ code, message }) => [code, message.slice(9, 28)])
  expect(told).toHaveLength(4)
  expect(told?.every(([code]) => code === 'FILE_SKIPPED')).toBe(true)
})

test('fetched skills wait for an approval by default', async () => {
  const place = new Place()
  place.put('pdf', 'Body.')
  const source = new RemoteSource(place, { label: 'team', origin: 'https://x.test/a' })
  await using skills = await createSkillRuntime({ sources: [source] })
  expect(skills.current.list()).toEqual([])
  expect(skills.current.reports()).toMatchObject([{ name: 'pdf', status: 'pending' }])
})

async function nextGeneration(skills: SkillRuntime): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = skills.subscribe(() => resolve())
  await promise
  stop()
}

const FILES: Readonly<Record<string, string>> = {
  'pdf/SKILL.md': renderSkillText({ name: 'pdf', description: 'Does it.', body: 'Body.' }),
  'pdf/.skillignore': 'drafts\n',
  'pdf/drafts/SKILL.md': renderSkillText({ name: 'draft', description: 'Does it.', body: 'Body.' }),
  'pdf/.env': 'TOKEN=1',
  'pdf/key.pem': '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n',
  'pdf/node_modules/kit/SKILL.md': 'x',
  'pdf/inner/SKILL.md': renderSkillText({ name: 'inner', description: 'Does it.', body: 'Body.' }),
  'pdf/inner/hidden\u200b.md': 'x',
  'pdf/a/b/c/d/e/f/g/h/i.md': 'x',
  'office/word/SKILL.md': renderSkillText({ name: 'word', description: 'Does it.', body: 'Body.' }),
  'office/word/cafe\u0301.md': 'x',
  'office/word/caf\u00e9.md': 'x',
  'office/excel/SKILL.md': 'no frontmatter',
  'ignored/.skillignore': 'gone\n',
  'ignored/gone/SKILL.md': renderSkillText({ name: 'gone', description: 'Does it.', body: 'Body.' }),
  'plural/SKILLS.md': 'x',
  '_aside/SKILL.md': 'x',
  '.hidden/SKILL.md': 'x',
  'repo/SKILL.md': renderSkillText({ name: 'repo', description: 'Does it.', body: 'Body.' }),
  'repo/data/HEAD': 'ref: x',
  'repo/data/objects/a': 'x',
  'repo/data/refs/b': 'x',
  'repo/data/notes.md': 'x',
  'a/b/c/d/e/f/g/SKILL.md': renderSkillText({ name: 'deep', description: 'Does it.', body: 'Body.' }),
  'loose.md': renderSkillText({ name: 'loose', description: 'Does it.', body: 'Body.' }),
}

test.each([
  { trust: 'auto' },
  { trust: 'review' },
  { trust: 'auto', layout: { standaloneFiles: true } },
  { trust: 'auto', reading: { secretFiles: 'include' } },
] as const)(
  'a tree and a folder with the same files have the same skills and findings: %j',
  async options => {
    const place = new Place()
    for (const [path, text] of Object.entries(FILES)) place.files.set(path, text)
    const remote = new RemoteSource(place, { label: 'team', origin: '/team', ...options })
    const fileSystem = new MemoryFileSystem(
      Object.fromEntries(Object.entries(FILES).map(([path, text]) => [`/team/${path}`, text])),
    )
    const disk = new FileSource({ fileSystem, root: '/team', label: 'team', watching: 'off', ...options })
    const describe = async (source: SkillSource): Promise<unknown> => {
      await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
      const toTold = ({ code, severity, path, message }: Diagnostic): string =>
        [code, severity, path, message].join(' ')
      return {
        skills: skills.current.list().map(({ name, location, revision }) => ({ name, location, revision })),
        reports: skills.current.reports().map(({ name, location, status, diagnostics }) => ({
          ...{ name, location, status },
          told: diagnostics.map(toTold).sort(),
        })),
        told: skills.current.sources()[0]?.diagnostics.map(toTold).sort(),
        notSkills: (await skills.findNotSkills()).found,
      }
    }
    expect(await describe(remote)).toEqual(await describe(disk))
  },
)

test('a skill whose bytes the store has lost is read from the tree again', async () => {
  const place = new Place()
  place.put('pdf', 'Body.')
  const store = new MemorySkillStore()
  const source = new RemoteSource(place, { label: 'team', origin: 'x', trust: 'auto' })
  const context = { store, hasher: portableHasher, final: true, signal: new AbortController().signal }
  const before = await source.read({ ...context, depth: 'full' })
  const digest = before.contents.entries[0]?.skill?.files[0]?.digest as `sha256:${string}`
  const reads: string[] = []
  store.put = put => void reads.push(put)
  store.has = () => false
  source.mark('pdf', 'lost')
  const after = await source.read({ ...context, depth: 'hinted' })
  expect(reads).toEqual([digest])
  expect(after.contents).toBe(before.contents)
})

/** A place that reports news. */
class NewsyPlace extends Place {
  /** Reports news; absent without a listener. */
  tell: (() => void) | undefined
  readonly causes: (boolean | undefined)[] = []
  running = 0
  overlaps = 0
  restoring: Promise<void> = Promise.resolve()

  watch(onNews: () => void): () => void {
    this.tell = onNews
    return () => (this.tell = undefined)
  }

  override async restore(): Promise<FileTree | undefined> {
    await this.restoring
    return this.stored
  }

  override async fetch(context: FetchContext): Promise<FetchResult> {
    this.causes.push(context.isNews)
    if (++this.running > 1) this.overlaps++
    try {
      return await super.fetch(context)
    } finally {
      this.running--
    }
  }
}

test('news during the start causes no second fetch at the same time', async () => {
  const place = new NewsyPlace()
  place.put('maps', 'One.')
  const restored = Promise.withResolvers<void>()
  place.restoring = restored.promise
  const opening = open(place)
  await expect.poll(() => place.tell).toBeDefined()
  place.tell?.()
  restored.resolve()
  await using skills = await opening
  expect(skills.current.list()).toHaveLength(1)
  expect(place).toMatchObject({ fetches: 1, overlaps: 0 })
})

test('a reload ends although news never end, and its fetch is no answer to news', async () => {
  const place = new NewsyPlace()
  place.put('maps', 'One.')
  await using skills = await open(place)
  // Each fetch causes the next news, so another fetch would always follow.
  place.answer = async () => {
    await new Promise(resolve => setImmediate(resolve))
    place.tell?.()
  }
  place.tell?.()
  await expect.poll(() => place.fetches).toBeGreaterThan(3)
  place.put('maps', 'Two.')
  const before = place.causes.length
  await skills.reload()
  expect((await skills.load('maps')).body).toContain('Two.')
  expect(place.causes.slice(before)).toContain(false)
  expect(place.overlaps).toBe(0)
  place.answer = () => undefined
})
