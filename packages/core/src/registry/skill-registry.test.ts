import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { portableHasher } from '../host.ts'
import { digestOf } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import { createSkill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { RegistryUpdate } from './registry-update.ts'
import { SkillRegistry, type SkillRegistryOptions } from './skill-registry.ts'

const encoder = new TextEncoder()

interface Harness {
  readonly registry: SkillRegistry
  readonly store: MemorySkillStore
  readonly updates: RegistryUpdate[]
  readonly errors: unknown[]
  /** Replaces the contents of a source. `skills` maps each location to a description, or to `null` for a broken text. */
  readonly replace: (label: string, skills: Readonly<Record<string, string | null>>) => Promise<void>
}

function open(labels: readonly string[], options: Partial<SkillRegistryOptions> = {}): Harness {
  const store = (options.store as MemorySkillStore | undefined) ?? new MemorySkillStore()
  const errors: unknown[] = []
  const quiet = (): void => undefined
  const logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (_: string, data?: object) => void errors.push(data),
  }
  const registry = new SkillRegistry({ store, logger, ...options })
  for (const label of labels) registry.addSource({ label, origin: `/${label}`, trust: 'auto' })
  const updates: RegistryUpdate[] = []
  registry.subscribe(update => void updates.push(update))
  const kept = new Map<string, SourceEntry>()
  return {
    registry,
    store,
    updates,
    errors,
    replace: async (label, skills) => {
      const entries = Object.entries(skills)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([location, description]) => {
          const key = `${label}\0${location}\0${description}`
          const entry = kept.get(key) ?? toEntry(label, location, description, store)
          kept.set(key, entry)
          return entry
        })
      await registry.replace(label, { entries, diagnostics: [] })
      await registry.delivered()
    },
  }
}

function toEntry(
  source: string,
  location: string,
  description: string | null,
  store: MemorySkillStore,
): SourceEntry {
  const name = location.split('/').at(-1) as string
  if (description === null) {
    return {
      location,
      name,
      diagnostics: [{ code: 'YAML_INVALID', severity: 'error', message: 'broken', line: 3 }],
    }
  }
  const bytes = encoder.encode(`---\nname: ${name}\ndescription: ${description}\n---\nbody`)
  const digest = digestOf(bytes, portableHasher)
  store.put(digest, bytes)
  const files: SkillFile[] = [{ path: 'SKILL.md', digest, size: bytes.length, isExecutable: false }]
  const parsed = parseSkill(bytes)
  if (!parsed.ok) throw new Error('the fixture is not a skill')
  const skill = createSkill(
    parsed.value,
    files,
    { source, location, skillFile: 'SKILL.md' },
    [],
    portableHasher,
  )
  store.putTree(skill.revision, files)
  return { location, name, skill, diagnostics: [] }
}

const kindsOf = (updates: readonly RegistryUpdate[]): string[] =>
  updates.flatMap(({ changes }) => changes.map(change => `${change.kind} ${change.name}`))

describe('SkillRegistry.replace()', () => {
  test('replace() publishes all skills of a source in one generation, sorted by name', async () => {
    const { registry, replace, updates } = open(['a'])
    await replace('a', { 'x/pdf': 'P', 'a-category/tone': 'T', maps: 'M' })
    expect(registry.current.list().map(skill => skill.name)).toEqual(['maps', 'pdf', 'tone'])
    expect(registry.current.number).toBe(1)
    expect(kindsOf(updates)).toEqual(['added maps', 'added pdf', 'added tone'])
  })

  test('replace() creates no generation for unchanged contents', async () => {
    const { registry, replace } = open(['a'])
    await replace('a', { pdf: 'P' })
    const before = registry.current
    await replace('a', { pdf: 'P' })
    expect(registry.current).toBe(before)
  })

  test('reports first added, then removed, then modified skills of a batch, each group sorted by name', async () => {
    const { replace, updates } = open(['a'])
    await replace('a', { b: '1', c: '1', d: '1' })
    updates.length = 0
    await replace('a', { a: '1', b: '2', e: '1', d: '2' })
    expect(kindsOf(updates)).toEqual(['added a', 'added e', 'removed c', 'modified b', 'modified d'])
  })

  test('removes the reports of removed folders, even of broken and shadowed folders', async () => {
    const { registry, replace } = open(['a', 'b'])
    await replace('a', { pdf: 'P', broken: null })
    await replace('b', { pdf: 'shadowed' })
    const { digest } = registry.current
    await replace('a', { pdf: 'P' })
    expect(registry.current.reports().map(report => report.status)).toEqual(['ok', 'shadowed'])
    await replace('b', {})
    expect(registry.current.reports().map(report => report.status)).toEqual(['ok'])
    expect(registry.current.digest).toBe(digest)
  })

  test('publishes a batch of thousands of skills as one generation', async () => {
    const { registry, replace, updates } = open(['a'])
    const seen = new Set<number>()
    const watching = setInterval(() => seen.add(registry.current.list().length), 0)
    await replace('a', Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`skill-${i}`, 'x'])))
    clearInterval(watching)
    expect([...seen].filter(count => count !== 0 && count !== 5_000)).toEqual([])
    expect(updates).toHaveLength(1)
  })

  test('replace() never changes an earlier generation', async () => {
    const { registry, replace } = open(['a'])
    await replace('a', { pdf: 'P', tone: 'T' })
    const before = registry.current
    const [list, reports] = [before.list(), before.reports()]
    await replace('a', { pdf: null, maps: 'M' })
    expect(before.list()).toBe(list)
    expect(before.reports()).toBe(reports)
    expect(before.get('tone').description).toBe('T')
  })

  test('the reports of an earlier generation do not change, even if they are first read after a later generation exists', async () => {
    const { registry, replace } = open(['a', 'b'])
    await replace('b', { pdf: 'B' })
    const before = registry.current
    await replace('a', { pdf: 'A' })
    expect(before.reports().map(report => report.status)).toEqual(['ok'])
    expect(registry.current.reports().map(report => [report.source, report.status])).toEqual([
      ['a', 'ok'],
      ['b', 'shadowed'],
    ])
  })
})

describe('duplicates', () => {
  test('the first source wins, and when its skill is removed, the skill of the next source is reported as modified', async () => {
    const { registry, replace, updates } = open(['a', 'b'])
    await replace('b', { pdf: 'from b' })
    await replace('a', { pdf: 'from a' })
    expect(registry.current.get('pdf').description).toBe('from a')
    expect(registry.current.reports()[1]?.diagnostics[0]).toMatchObject({
      code: 'SKILL_SHADOWED',
      message: expect.stringMatching(/"b\/pdf" is shadowed by "a\/pdf"/),
    })
    updates.length = 0
    await replace('a', {})
    expect(registry.current.get('pdf').description).toBe('from b')
    expect(kindsOf(updates)).toEqual(['modified pdf'])
    expect(updates[0]?.changes[0]).toMatchObject({ facets: ['frontmatter', 'location'] })
  })

  test('the last source wins with onDuplicate: "last-wins"', async () => {
    const { registry, replace } = open(['a', 'b'], { onDuplicate: 'last-wins' })
    await replace('a', { pdf: 'from a' })
    await replace('b', { pdf: 'from b', 'z/pdf': 'later path' })
    expect(registry.current.get('pdf').description).toBe('from b')
    expect(registry.current.reports().map(report => report.status)).toEqual(['ok', 'shadowed', 'shadowed'])
  })

  test('within one source, the first path wins, regardless of the order in which the skills are read', async () => {
    const { registry, replace } = open(['a'])
    await replace('a', { 'z/pdf': 'later path', 'b/pdf': 'first path' })
    expect(registry.current.get('pdf').description).toBe('first path')
  })

  test('a broken text without a last good revision does not shadow a valid skill of the same name', async () => {
    const { registry, replace } = open(['a', 'b'])
    await replace('b', { pdf: 'good' })
    await replace('a', { pdf: null })
    expect(registry.current.get('pdf').description).toBe('good')
  })

  test('two sources with the same label are refused', () => {
    expect(() => open(['a', 'a'])).toThrow('two sources have the label "a"')
  })
})

describe('names that look alike', () => {
  const told = (update: RegistryUpdate | undefined): unknown =>
    update?.reports.map(({ name, status, diagnostics }) => [
      name,
      status,
      diagnostics.map(({ code }) => code),
    ])

  test('T4: the reports of two lookalike skills have a warning until one of the two skills is removed', async () => {
    const it = open(['a', 'b'])
    await it.replace('a', { pdf: 'd' })
    await it.replace('b', { рdf: 'd', maps: 'd' })
    const alike = [
      ['рdf', 'warning', ['NAME_LOOKALIKE']],
      ['pdf', 'warning', ['NAME_LOOKALIKE']],
    ]
    expect(told(it.updates.at(-1))).toEqual(alike)
    const reports = it.registry.current.reports()
    expect(reports.map(({ name, status }) => [name, status])).toEqual([
      ['maps', 'ok'],
      ['pdf', 'warning'],
      ['рdf', 'warning'],
    ])
    expect(reports.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))).toEqual([
      'skill name "pdf" looks like "рdf" (with U+0440), which is another skill',
      'skill name "рdf" (with U+0440) looks like "pdf", which is another skill',
    ])
    await it.replace('a', { pdf: 'other' })
    expect(told(it.updates.at(-1))).toEqual(alike.slice(1))
    await it.replace('b', { maps: 'd' })
    expect(told(it.updates.at(-1))).toEqual([['pdf', 'ok', []]])
    expect(it.registry.current.reports().map(({ status }) => status)).toEqual(['ok', 'ok'])
  })
})

describe('the last good revision', () => {
  test('the last good revision stays served while the text is broken, and the "broken" report names that revision', async () => {
    const { registry, replace, updates } = open(['a'])
    await replace('a', { pdf: 'good' })
    const before = registry.current
    updates.length = 0
    await replace('a', { pdf: null })
    expect(registry.current.digest).toBe(before.digest)
    expect(registry.current.number).toBe(before.number + 1)
    expect(registry.current.get('pdf')).toBe(before.get('pdf'))
    expect(registry.current.reports()[0]).toMatchObject({
      status: 'broken',
      serving: before.get('pdf').revision,
    })
    expect(updates[0]).toMatchObject({ changes: [], reports: [{ name: 'pdf', status: 'broken' }] })
  })

  test(`the last good revision is in the store, so it is still served after a restart ${verifies('PROMISE-3')}`, async () => {
    const first = open(['a'])
    await first.replace('a', { pdf: 'good' })
    const second = open(['a'], { store: first.store })
    await second.replace('a', { pdf: null })
    expect(second.registry.current.get('pdf').description).toBe('good')
    expect(second.registry.current.digest).toBe(first.registry.current.digest)
  })

  test('the last good revision of a removed skill is forgotten, so nothing is served if the skill returns with a broken text', async () => {
    const first = open(['a'])
    await first.replace('a', { pdf: 'good' })
    await first.replace('a', {})
    const second = open(['a'], { store: first.store })
    await second.replace('a', { pdf: null })
    expect(second.registry.current.list()).toEqual([])
  })
})

describe('admission', () => {
  test('a held revision has the status "pending" while the admitted revision is served', async () => {
    const allowed = new Set(['first'])
    const { registry, replace } = open(['a'], {
      admission: {
        admit: ({ skill }) =>
          allowed.has(skill.description) ? { kind: 'admit' } : { kind: 'hold', reason: 'not approved' },
      },
    })
    await replace('a', { pdf: 'first' })
    await replace('a', { pdf: 'second' })
    expect(registry.current.get('pdf').description).toBe('first')
    expect(registry.current.reports()[0]).toMatchObject({
      status: 'pending',
      diagnostics: [{ code: 'REVISION_HELD' }],
    })
  })

  test('if the policy throws for one skill, only that skill is held', async () => {
    const { registry, replace, errors } = open(['a'], {
      admission: {
        admit: ({ skill }) => {
          if (skill.name === 'bad') throw new Error('no verdict')
          return { kind: 'admit' }
        },
      },
    })
    await replace('a', { bad: 'x', good: 'y' })
    expect(registry.current.list().map(skill => skill.name)).toEqual(['good'])
    expect(registry.current.reports()[0]).toMatchObject({
      name: 'bad',
      status: 'pending',
      diagnostics: [{ message: expect.stringContaining('no verdict') }],
    })
    expect(errors.length).toBeGreaterThan(0)
  })

  test('if the policy throws when it is asked for the former place of a folder, the skills are served', async () => {
    const { registry, store, errors } = open(['a'], {
      admission: {
        admit: () => ({ kind: 'admit' }),
        locate: () => {
          throw new Error('no place')
        },
      },
    })
    const entry = { ...toEntry('a', 'pdf', 'good', store), identity: '1:2:3' }
    await registry.replace('a', { entries: [entry], diagnostics: [] })
    expect(registry.current.list().map(skill => skill.name)).toEqual(['pdf'])
    expect(errors.length).toBeGreaterThan(0)
  })

  test('when a trusted source becomes a reviewed source, its skills wait, and their stored revisions are not served', async () => {
    const first = open(['a'])
    await first.replace('a', { pdf: 'good' })
    const registry = new SkillRegistry({ store: first.store })
    registry.addSource({ label: 'a', origin: '/a', trust: 'review' })
    await registry.replace('a', { entries: [toEntry('a', 'pdf', 'good', first.store)], diagnostics: [] })
    expect(registry.current.list()).toEqual([])
    expect(registry.current.reports()[0]?.status).toBe('pending')
  })
})

describe('the digest of a generation', () => {
  test('the digest depends only on the served skills, and not on the order of sources or changes', async () => {
    const one = open(['a', 'b'])
    await one.replace('a', { pdf: 'P', maps: 'M' })
    await one.replace('b', { tone: 'T' })
    const two = open(['b', 'a'])
    await two.replace('b', { tone: 'old', other: 'x' })
    await two.replace('a', { maps: 'M' })
    await two.replace('a', { maps: 'M', pdf: 'P' })
    await two.replace('b', { tone: 'T' })
    expect(two.registry.current.digest).toBe(one.registry.current.digest)
  })

  test('the digest of a fixed set of skills has a fixed value, which no release may change unintentionally', async () => {
    const { registry, replace } = open(['skills'])
    await replace('skills', { pdf: 'Reads PDF files.' })
    expect(registry.current.digest).toMatchInlineSnapshot(
      `"sha256:65d8b5416ab2d0cb104399aa72735d18529e3b640b96b85e255ae0202ae7bef1"`,
    )
  })
})

describe('subscribers', () => {
  test('after a new generation has become current, subscribers are called phase by phase', async () => {
    const { registry, replace } = open(['a'])
    const told: string[] = []
    for (const phase of ['mcp', 'events', 'tools'] as const) {
      registry.subscribe(
        async update => {
          await Promise.resolve()
          told.push(`${phase} ${update.generation === registry.current}`)
        },
        { phase },
      )
    }
    await replace('a', { pdf: 'P' })
    expect(told).toEqual(['tools true', 'events true', 'mcp true'])
  })

  test(`a subscriber that throws does not affect other subscribers, and its error is logged ${verifies('OMNI-X08', 'P26')}`, async () => {
    const { registry, replace, errors, updates } = open(['a'])
    registry.subscribe(
      () => {
        throw new Error('sync')
      },
      { phase: 'tools' },
    )
    registry.subscribe(
      async () => {
        throw new Error('async')
      },
      { phase: 'tools' },
    )
    await replace('a', { pdf: 'P' })
    expect(updates).toHaveLength(1)
    expect(errors).toHaveLength(2)
  })

  test('a subscriber that misses its deadline does not delay others, and later gets one merged update', async () => {
    const clock = new FakeClock()
    const { registry, updates } = open(['a'], { clock })
    const store = new MemorySkillStore()
    const slow: RegistryUpdate[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    registry.subscribe(
      async update => {
        slow.push(update)
        if (slow.length === 1) await promise
      },
      { phase: 'tools' },
    )
    const replace = async (entries: readonly SourceEntry[]): Promise<void> => {
      await registry.replace('a', { entries, diagnostics: [] })
      await clock.advance(5_000)
    }
    const pdf = toEntry('a', 'pdf', 'P', store)
    await replace([pdf])
    expect(updates).toHaveLength(1)
    await replace([toEntry('a', 'maps', 'gone again', store), pdf])
    await replace([toEntry('a', 'pdf', 'newer', store)])
    expect(updates).toHaveLength(3)
    expect(slow).toHaveLength(1)
    resolve()
    await clock.advance(0)
    expect(kindsOf(slow.slice(1))).toEqual(['modified pdf'])
  })

  test('calls of one subscriber never overlap, even if the subscriber must catch up', async () => {
    const clock = new FakeClock()
    const { registry } = open(['a'], { clock })
    const store = new MemorySkillStore()
    const told: string[] = []
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    registry.subscribe(async () => {
      const call = ++calls
      told.push(`begin ${call}`)
      await gates[call - 1]?.promise
      told.push(`end ${call}`)
    })
    const replace = async (description: string): Promise<void> => {
      await registry.replace('a', { entries: [toEntry('a', 'pdf', description, store)], diagnostics: [] })
      await clock.advance(5_000)
    }
    await replace('1')
    await replace('2')
    gates[0]?.resolve()
    await clock.advance(0)
    await replace('3')
    gates[1]?.resolve()
    await clock.advance(0)
    expect(told).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
  })

  test('a subscriber is not called after it unsubscribed', async () => {
    const { registry, replace } = open(['a'])
    const told: RegistryUpdate[] = []
    const unsubscribe = registry.subscribe(update => void told.push(update))
    unsubscribe()
    await replace('a', { pdf: 'P' })
    expect(told).toEqual([])
  })

  test('watch() first yields the current generation, and skips intermediate generations', async () => {
    const { registry, replace } = open(['a'])
    await replace('a', { pdf: 'P' })
    const watching = registry.watch()
    expect((await watching.next()).value).toBe(registry.current)
    await replace('a', { pdf: 'Q' })
    await replace('a', { pdf: 'R' })
    expect((await watching.next()).value).toBe(registry.current)
    const last = watching.next()
    await registry.close()
    expect((await last).done).toBe(true)
  })
})

test('replace() fails after close()', async () => {
  const { registry } = open(['a'])
  await registry.close()
  await expect(registry.replace('a', { entries: [], diagnostics: [] })).rejects.toMatchObject({
    code: 'CLOSED',
  })
})

test('when the store works again, its diagnostic disappears, even if the failure was still being reported at that moment', async () => {
  const { registry } = open(['a'])
  const failed = registry.reportStore('a', { code: 'STORE_FAILED', severity: 'warning', message: 'full' })
  const recovered = registry.reportStore('a', undefined)
  await Promise.all([failed, recovered])
  expect(registry.current.sources().flatMap(({ diagnostics }) => diagnostics)).toEqual([])
})

test('get() lists the available skills in its error', async () => {
  const { registry, replace } = open(['a'])
  await replace('a', { pdf: 'P', maps: 'M' })
  expect(() => registry.current.get('pfd')).toThrow(
    'there is no skill "pfd"; did you mean "pdf"? available: maps, pdf',
  )
  expect(() => registry.current.get('xyz')).toThrow('there is no skill "xyz"; available: maps, pdf')
})
