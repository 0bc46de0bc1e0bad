import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import {
  createAuthorTools,
  createSkillRuntime,
  type Digest,
  type SkillRuntime,
  type SkillRuntimeOptions,
  type SkillSession,
} from '../index.ts'
import {
  FileSource,
  MemoryDecisions,
  MemoryFileSystem,
  MemoryRevisionLog,
  MemorySkillStore,
  NO_SETTLE,
  type SkillDecision,
} from '../source-entry.ts'
import { FakeClock } from '../testing/index.ts'
import { describeNewCapabilities } from './capabilities.ts'

const text = (name: string, body = 'Body.', extra = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${extra}---\n${body}\n`

interface Kit {
  readonly skills: SkillRuntime
  readonly team: MemoryFileSystem
  readonly mine: MemoryFileSystem
  readonly put: (path: string, content: string) => Promise<void>
  readonly bodyOf: (name: string) => Promise<string | undefined>
  readonly statusOf: (name: string) => string
}

/** Two sources: `mine` is trusted, `team` is reviewed and comes first. */
async function open(
  team: Readonly<Record<string, string>> = {},
  options: Partial<SkillRuntimeOptions> & { readonly mine?: Readonly<Record<string, string>> } = {},
): Promise<Kit & AsyncDisposable> {
  const { mine = {}, ...rest } = options
  const files = new MemoryFileSystem({ '/team/.keep': '', ...team })
  const own = new MemoryFileSystem({ '/mine/.keep': '', ...mine })
  const make = (label: string, fileSystem: MemoryFileSystem, trust: 'auto' | 'review'): FileSource =>
    new FileSource({ fileSystem, writable: fileSystem, root: `/${label}`, label, trust, watching: 'off' })
  const skills = await createSkillRuntime({
    sources: [make('team', files, 'review'), make('mine', own, 'auto')],
    tuning: { settle: NO_SETTLE },
    clock: new FakeClock(),
    ...rest,
  })
  const find = (name: string) => skills.current.find(name)
  return {
    skills,
    team: files,
    mine: own,
    put: async (path, content) => {
      ;(path.startsWith('/team/') ? files : own).write(path, content)
      await skills.reload()
    },
    bodyOf: async name => {
      const skill = find(name)
      return skill === undefined ? undefined : await skills.readBody(skill)
    },
    statusOf: name =>
      skills.current
        .reports()
        .filter(report => report.name === name)
        .map(report => `${report.source}:${report.status}`)
        .join(' '),
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

const revisionOf = (skills: SkillRuntime, name: string): Digest =>
  skills.current.reports().find(report => report.name === name)?.revision ?? 'sha256:'

describe('a reviewed source', () => {
  test(`T28: a reviewed source serves nothing before an approval, and exactly the approved revision after the approval ${verifies('P35')}`, async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual([undefined, 'team:pending'])
    expect(it.skills.review.pending().map(({ name }) => name)).toEqual(['pdf'])
    const report = await it.skills.review.approve('pdf', { by: 'ada' })
    expect(report).toMatchObject({ status: 'ok', serving: report.revision })
    expect(await it.bodyOf('pdf')).toBe('First.')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Poisoned.'))
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'team:pending'])
    await it.skills.review.approve('pdf')
    expect(await it.bodyOf('pdf')).toBe('Poisoned.')
  })

  test('a reviewed source stops serving a rejected revision, and asks for approval of the next revision', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    await it.skills.review.approve('pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Second.'))
    await it.skills.review.reject('pdf', { by: 'ada', note: 'asks for secrets' })
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'team:rejected'])
    const [report] = it.skills.current.reports()
    expect(report?.diagnostics.at(-1)?.message).toMatch(
      /held: rejected by ada on 2026-01-01 \(asks for secrets\)/,
    )
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Third.'))
    expect(it.statusOf('pdf')).toBe('team:pending')
    await it.skills.review.approve('pdf')
    await it.skills.review.reject('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'team:rejected'])
  })

  test('a reviewed source serves the previous revision again after a rejection, even if the previous revision was never approved', async () => {
    for (const frozen of [true, false]) {
      await using it = await open(
        {},
        { review: { isFrozen: frozen }, mine: { '/mine/maps/SKILL.md': text('maps', 'First.') } },
      )
      await it.put('/mine/maps/SKILL.md', text('maps', 'Second.'))
      if (frozen) await it.skills.review.approve('maps')
      expect(await it.bodyOf('maps')).toBe('Second.')
      await it.skills.review.reject('maps')
      expect([await it.bodyOf('maps'), it.statusOf('maps')]).toEqual(['First.', 'mine:rejected'])
    }
  })

  test('a withdrawn approval or rejection lets the newest revision wait again, and serves what was served before', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    await it.skills.review.approve('pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Second.'))
    for (const verb of ['approve', 'reject'] as const) {
      await it.skills.review[verb]('pdf', { by: 'ada' })
      const back = await it.skills.review.withdraw('pdf', { by: 'ada' })
      expect([back.isNew, await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual([
        true,
        'First.',
        'team:pending',
      ])
    }
    expect((await it.skills.review.withdraw('pdf')).isNew).toBe(false)
    const revision = it.skills.current.get('pdf').revision
    await expect(it.skills.review.withdraw('pdf', { revision })).rejects.toMatchObject({
      code: 'CHANGED_SINCE_READ',
    })
  })

  test('a reviewed source serves nothing after a rejection if no other revision was approved', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    await it.skills.review.approve('pdf')
    await it.skills.review.reject('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual([undefined, 'team:rejected'])
  })

  test('a reviewed source serves the approved revision after a restart, even if another runtime served a newer revision meanwhile', async () => {
    const [store, decisions] = [new MemorySkillStore(), new MemoryDecisions()]
    const open1 = async (trust: 'auto' | 'review', body: string, own: MemoryDecisions) => {
      const fileSystem = new MemoryFileSystem({ '/team/pdf/SKILL.md': text('pdf', body) })
      const source = new FileSource({ fileSystem, root: '/team', label: 'team', trust, watching: 'off' })
      return await createSkillRuntime({
        sources: [source],
        tuning: { settle: NO_SETTLE },
        state: { store, decisions: own },
      })
    }
    {
      await using follower = await open1('review', 'First.', decisions)
      await follower.review.approve('pdf')
    }
    await (await open1('auto', 'Second.', new MemoryDecisions())).close()
    await using again = await open1('review', 'Second.', decisions)
    expect(await again.readBody(again.current.get('pdf'))).toBe('First.')
  })

  test('approve() fails if the newest revision is not the reviewed revision', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    const looked = revisionOf(it.skills, 'pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Swapped.'))
    await expect(it.skills.review.approve('pdf', { revision: looked })).rejects.toMatchObject({
      code: 'CHANGED_SINCE_READ',
      message: `the newest revision of "pdf" is now ${revisionOf(it.skills, 'pdf')}; review it again`,
    })
    await expect(it.skills.review.approve('nope')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    await it.put('/team/pdf/SKILL.md', 'no skill')
    await expect(it.skills.review.approve('pdf')).rejects.toMatchObject({ code: 'SKILL_INVALID' })
  })

  test.each([
    ['approve', 8],
    ['approve', 63],
    ['reject', 8],
    ['pin', 8],
    ['grant', 8],
  ] as const)(
    'T40: %s refuses an incomplete digest with %i digits and names the whole digest',
    async (verb, digits) => {
      await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
      const revision = revisionOf(it.skills, 'pdf')
      const { review } = it.skills
      for (const beginning of [revision.slice(0, 7 + digits), revision.slice(7, 7 + digits)]) {
        const named = { revision: beginning }
        const done = verb === 'grant' ? review.grant('pdf', ['net'], named) : review[verb]('pdf', named)
        await expect(done).rejects.toMatchObject({
          code: 'INVALID_OPTION',
          message: expect.stringMatching(new RegExp(`is not a whole digest, .* use ${revision}$`)),
        })
      }
      await expect(review.decisions('pdf')).resolves.toEqual([])
      for (const whole of [revision, revision.slice(7).toUpperCase()])
        expect((await review.approve('pdf', { revision: whole })).serving).toBe(revision)
    },
  )

  test.each([
    [
      'instructions',
      'pdf/SKILL.md',
      text('pdf', 'Be kind.\u{e0073}\u{e0074}'),
      'SKILL.md:5:9: U+E0073 U+E0074',
    ],
    ['a description', 'pdf/SKILL.md', text('pdf').replace('Does', 'Do\u200bes'), 'SKILL.md:3:16: U+200B'],
    [
      'an escape',
      'pdf/SKILL.md',
      text('pdf').replace('Does pdf.', '"a\\u202Eb"'),
      'SKILL.md:3:1: "description" contains the invisible characters U+202E',
    ],
    ['a script', 'pdf/scripts/a.js', 'x\n"\u3164"', 'scripts/a.js:2:2: U+3164'],
    ['a name', 'pdf/a\u200b.md', 'x', 'the name contains the invisible characters U+200B'],
    ['a large file', 'pdf/a.txt', `${'x'.repeat(300_000)}\u{e0101}`, 'a.txt:1:300001: U+E0101'],
  ])(
    'T46: refuses an approval with hidden text in %s until it is confirmed',
    async (_, path, content, place) => {
      await using it = await open({ '/team/pdf/SKILL.md': text('pdf'), [`/team/${path}`]: content })
      const revision = revisionOf(it.skills, 'pdf')
      for (const verb of ['approve', 'pin'] as const)
        await expect(it.skills.review[verb]('pdf', { revision })).rejects.toMatchObject({
          code: 'HIDDEN_TEXT',
          message: expect.stringContaining(place),
        })
      expect(await it.skills.review.approveAll()).toEqual([])
      expect(it.statusOf('pdf')).toBe('team:pending')
      await it.skills.review.approve('pdf', { revision, confirmHidden: true })
      expect(await it.bodyOf('pdf')).toBeDefined()
      // Pinning an approved revision needs no second confirmation of its hidden text.
      await it.skills.review.pin('pdf', { revision })
    },
  )

  test.each([
    ['scripts/run.py', [...Buffer.from('# Zo'), 0xeb, ...Buffer.from('\nsteal()\n')], 'byte 5 is the first'],
    ['scripts/run.sh', [...Buffer.from('exit\n'), 0], 'byte 6 is the first'],
    ['lib/run.mjs', [0xff], 'byte 1 is the first'],
    ['tools/run', [...Buffer.from('#!/bin/sh\n#'), 0xff], 'byte 12 is the first'],
    ['tools/run.awk', [...Buffer.from('#!/usr/bin/awk -f\n#'), 0xff], 'byte 20 is the first'],
    ['tools/plot.r', [0xff], 'byte 1 is the first'],
    ['notes.md', [...Buffer.from('#!/bin/sh\n#'), 0xff], 'byte 12 is the first'],
    ['scripts/run.sh', [0xff, 0xfe, ...Buffer.from('\necho run\n#')], 'byte 1 is the first'],
    ['notes.txt', [...Buffer.from('\ufeffIgnore\u200bthis.', 'utf16le')], 'notes.txt:1:7: U+200B'],
  ])(
    'T58: refuses an approval of %s with bytes that no person sees until it is confirmed',
    async (path, bytes, place) => {
      await using it = await open({ '/team/pdf/SKILL.md': text('pdf') })
      it.team.write(`/team/pdf/${path}`, Uint8Array.from(bytes))
      await it.skills.reload()
      const revision = revisionOf(it.skills, 'pdf')
      await expect(it.skills.review.approve('pdf', { revision })).rejects.toMatchObject({
        code: 'HIDDEN_TEXT',
        message: expect.stringContaining(place),
      })
      await it.skills.review.approve('pdf', { revision, confirmHidden: true })
      expect(it.statusOf('pdf')).toMatch(/^team:(?:ok|warning)$/)
    },
  )

  test('T58: an image that is not text needs no confirmation', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf') })
    it.team.write('/team/pdf/logo.png', Uint8Array.of(0x89, 0x50, 0, 0xff))
    await it.skills.reload()
    await it.skills.review.approve('pdf', { revision: revisionOf(it.skills, 'pdf') })
    expect(it.statusOf('pdf')).toBe('team:ok')
  })

  test('T46: rollback() to a revision that was never live requires a confirmation of its hidden text', async () => {
    await using it = await open(
      { '/team/pdf/SKILL.md': text('pdf', 'First.') },
      { state: { history: new MemoryRevisionLog() } },
    )
    await it.skills.review.approve('pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Hid\u2060den.'))
    const hidden = revisionOf(it.skills, 'pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Third.'))
    await it.skills.delivered()
    const rollback = { revision: hidden }
    await expect(it.skills.history.rollback('pdf', rollback)).rejects.toMatchObject({ code: 'HIDDEN_TEXT' })
    expect(await it.bodyOf('pdf')).toBe('First.')
    await it.skills.history.rollback('pdf', { ...rollback, confirmHidden: true })
    expect(await it.bodyOf('pdf')).toBe('Hid\u2060den.')
  })

  test('pin() without a revision fails while the only revision waits for approval', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    await expect(it.skills.review.pin('pdf')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: `no revision of "pdf" is served; name the revision to pin; the newest is ${revisionOf(it.skills, 'pdf')}`,
    })
    expect(await it.bodyOf('pdf')).toBeUndefined()
  })

  test('a skill of a reviewed source never shadows a skill of a trusted source, whatever the duplicate policy', async () => {
    for (const onDuplicate of [
      'first-wins',
      'last-wins',
      (all: readonly unknown[]) => all.at(-1) as never,
    ] as const) {
      const mine = { '/mine/pdf/SKILL.md': text('pdf', 'Mine.') }
      await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'Theirs.') }, { mine, onDuplicate })
      await it.skills.review.approve('team/pdf')
      expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Mine.', 'mine:ok team:shadowed'])
      const loser = it.skills.current.reports().find(({ status }) => status === 'shadowed')
      expect(loser?.diagnostics[0]?.message).toMatch(
        /"team\/pdf" is shadowed by "mine\/pdf", which has the same name and is from a source that needs no review/,
      )
    }
  })

  test('if several skills have the same name, approve() selects the one that waits, and pin() requires "source/name"', async () => {
    const mine = { '/mine/pdf/SKILL.md': text('pdf', 'Mine.') }
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'Theirs.') }, { mine })
    expect((await it.skills.review.approve('pdf')).source).toBe('team')
    await expect(it.skills.review.pin('pdf')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('"mine/pdf", "team/pdf"'),
    })
    expect((await it.skills.review.pin('mine/pdf')).source).toBe('mine')
  })

  test('the review does not record the same decision twice, unless the second decision has a note', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf') })
    const { review } = it.skills
    expect((await review.unpin('pdf')).isNew).toBe(false)
    expect((await review.reject('pdf', { note: 'asks for secrets' })).isNew).toBe(true)
    const again = await review.reject('pdf')
    expect([again.isNew, again.diagnostics.at(-1)?.message]).toEqual([
      false,
      expect.stringMatching(/^revision [0-9a-f]{8} is held: rejected by .*\(asks for secrets\)$/),
    ])
    expect((await review.reject('pdf', { note: 'still' })).isNew).toBe(true)
    expect((await review.approve('pdf')).isNew).toBe(true)
    expect((await review.approve('pdf')).isNew).toBe(false)
    expect((await review.disable('pdf', { note: 'incident' })).isNew).toBe(true)
    expect((await review.disable('pdf')).isNew).toBe(false)
    expect((await review.enable('pdf')).isNew).toBe(true)
    expect((await review.pin('pdf')).isNew).toBe(true)
    expect((await review.pin('pdf')).isNew).toBe(false)
    const kinds = (await review.decisions('pdf')).map(({ kind }) => kind)
    expect(kinds).toEqual(['reject', 'reject', 'approve', 'disable', 'enable', 'pin'])
  })

  test('the review records a rejection again if another process has just approved the revision', async () => {
    // Simulates a store shared by several processes: `find` answers from the decisions that were read last.
    class Shared extends MemoryDecisions {
      heard: ReturnType<MemoryDecisions['find']>
      override find(): ReturnType<MemoryDecisions['find']> {
        return this.heard
      }
    }
    const decisions = new Shared()
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf') }, { state: { decisions } })
    const revision = it.skills.current.reports()[0]?.revision as `sha256:${string}`
    await it.skills.review.reject('pdf')
    decisions.heard = await new MemoryDecisions().find({ origin: '/team', location: 'pdf' })
    const place = { origin: '/team', location: 'pdf' }
    await decisions.record(place, { kind: 'approve', revision, by: 'bob', at: 1 })
    expect((await it.skills.review.reject('pdf')).isNew).toBe(true)
  })

  test('approveAll() approves every skill that waits for approval', async () => {
    await using it = await open({ '/team/a/SKILL.md': text('a'), '/team/b/SKILL.md': text('b') })
    expect((await it.skills.review.approveAll({ by: 'ada' })).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(it.skills.review.pending()).toEqual([])
  })

  test('the runtime emits an event for each skill that starts to wait and for each decision', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf') })
    const told: string[] = []
    it.skills.events.on(
      'skill:pending',
      ({ name, serving }) => void told.push(`pending ${name} ${serving?.slice(0, 6)}`),
    )
    it.skills.events.on(
      'skill:decided',
      ({ location, decision }) => void told.push(`${decision.kind} ${location} ${decision.by}`),
    )
    await it.skills.review.approve('pdf', { by: 'ada' })
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Newer.'))
    await it.skills.review.reject('pdf', { by: 'bob' })
    await it.skills.delivered()
    expect(told).toEqual(['approve pdf ada', 'pending pdf sha256', 'reject pdf bob'])
  })

  test('approvals in a reviewed source stay valid after a restart, and do not apply to any other source', async () => {
    const store = new MemorySkillStore()
    const decisions = new MemoryDecisions()
    const files = { '/team/pdf/SKILL.md': text('pdf', 'First.') }
    {
      await using it = await open(files, { state: { store, decisions } })
      await it.skills.review.approve('pdf')
    }
    {
      await using it = await open(
        { '/team/pdf/SKILL.md': text('pdf', 'Second.') },
        { state: { store, decisions } },
      )
      expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'team:pending'])
    }
    const elsewhere = new MemoryFileSystem({ '/other/pdf/SKILL.md': text('pdf', 'First.') })
    const source = new FileSource({ fileSystem: elsewhere, root: '/other', label: 'team', trust: 'review' })
    await using skills = await createSkillRuntime({
      sources: [source],
      state: { store, decisions },
      tuning: { settle: NO_SETTLE },
    })
    expect(skills.current.list()).toEqual([])
  })
})

describe('pin() and disable()', () => {
  test('pin() keeps a revision served until unpin(), even if the newest text is broken', async () => {
    await using it = await open({}, { mine: { '/mine/pdf/SKILL.md': text('pdf', 'First.') } })
    await it.skills.review.pin('pdf', { by: 'ada' })
    expect(it.statusOf('pdf')).toBe('mine:pinned')
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'Second.'))
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'mine:pinned'])
    await it.put('/mine/pdf/SKILL.md', 'broken')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'mine:broken'])
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'Third.'))
    await it.skills.review.unpin('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Third.', 'mine:ok'])
  })

  test('a rejection of the pinned revision ends its pin, and a later pin cancels the rejection', async () => {
    await using it = await open({}, { mine: { '/mine/pdf/SKILL.md': text('pdf', 'First.') } })
    const first = it.skills.current.get('pdf').revision
    await it.skills.review.pin('pdf')
    await it.skills.review.reject('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual([undefined, 'mine:rejected'])
    await it.skills.review.pin('pdf', { revision: first })
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'mine:pinned'])
  })

  test('unpin() stops serving a revision that was never approved', async () => {
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'First.') })
    await it.skills.review.approve('pdf')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Unread.'))
    await it.skills.review.pin('pdf', { revision: revisionOf(it.skills, 'pdf') })
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Unread.', 'team:pinned'])
    await it.skills.review.unpin('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'team:pending'])
  })

  test('pin() accepts an older revision that is stored, and refuses an unknown revision', async () => {
    await using it = await open({}, { mine: { '/mine/pdf/SKILL.md': text('pdf', 'First.') } })
    const first = revisionOf(it.skills, 'pdf')
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'Second.'))
    await it.skills.review.pin('pdf', { revision: first })
    expect(await it.bodyOf('pdf')).toBe('First.')
    await expect(it.skills.review.pin('pdf', { revision: `sha256:${'0'.repeat(64)}` })).rejects.toMatchObject(
      {
        code: 'REVISION_NOT_FOUND',
      },
    )
  })

  test('while a skill is disabled, another skill with the same name is served', async () => {
    const mine = { '/mine/pdf/SKILL.md': text('pdf', 'Mine.') }
    await using it = await open({ '/team/pdf/SKILL.md': text('pdf', 'Theirs.') }, { mine })
    await it.skills.review.approve('team/pdf')
    await it.skills.review.disable('pdf', { by: 'ada' })
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Theirs.', 'mine:disabled team:ok'])
    await it.skills.review.enable('pdf')
    expect(await it.bodyOf('pdf')).toBe('Mine.')
    await it.put('/team/pdf/SKILL.md', text('pdf', 'Unread.'))
    await it.skills.review.disable('team/pdf')
    await it.skills.review.enable('team/pdf')
    await it.skills.review.disable('mine/pdf')
    expect(await it.bodyOf('pdf')).toBe('Theirs.')
  })
})

test('with isFrozen, the contents of the first start are served, and later changes of every source wait', async () => {
  const mine = { '/mine/pdf/SKILL.md': text('pdf', 'First.') }
  await using it = await open({}, { mine, review: { isFrozen: true } })
  expect(await it.bodyOf('pdf')).toBe('First.')
  await it.put('/mine/pdf/SKILL.md', text('pdf', 'Second.'))
  await it.put('/mine/docx/SKILL.md', text('docx'))
  expect([await it.bodyOf('pdf'), it.statusOf('pdf'), it.statusOf('docx')]).toEqual([
    'First.',
    'mine:pending',
    'mine:pending',
  ])
  await it.skills.review.approve('pdf')
  expect(await it.bodyOf('pdf')).toBe('Second.')
})

test('with isFrozen, a change made while no process ran waits, and the last served revision stays live', async () => {
  const store = new MemorySkillStore()
  const decisions = new MemoryDecisions()
  await (
    await open({}, { mine: { '/mine/pdf/SKILL.md': text('pdf', 'First.') }, state: { store, decisions } })
  ).skills.close()
  const mine = { '/mine/pdf/SKILL.md': text('pdf', 'Second.') }
  await using it = await open({}, { mine, state: { store, decisions }, review: { isFrozen: true } })
  expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'mine:pending'])
  await it.skills.review.approve('pdf')
  expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Second.', 'mine:ok'])
})

describe('isFrozen with restarts', () => {
  /** Simulates processes that run one after the other and share store and decisions. */
  function createProcesses() {
    const store = new MemorySkillStore()
    const decisions = new MemoryDecisions()
    return async (mine: Readonly<Record<string, string>>, frozen: boolean): Promise<Kit & AsyncDisposable> =>
      await open({}, { mine, state: { store, decisions }, review: { isFrozen: frozen } })
  }
  const pdf = (body: string) => ({ '/mine/pdf/SKILL.md': text('pdf', body) })
  const docx = { '/mine/docx/SKILL.md': text('docx') }

  test('a skill that was added while no process ran waits for approval', async () => {
    const start = createProcesses()
    await (await start(pdf('First.'), true)).skills.close()
    await using it = await start({ ...pdf('First.'), ...docx }, true)
    expect([it.statusOf('pdf'), it.statusOf('docx')]).toEqual(['mine:ok', 'mine:pending'])
  })

  test('a skill that is removed and later added with changes waits for approval, even if it is the only skill of its source', async () => {
    const start = createProcesses()
    await (await start(pdf('First.'), true)).skills.close()
    await (await start({}, true)).skills.close()
    await using it = await start(pdf('Second.'), true)
    expect(it.statusOf('pdf')).toBe('mine:pending')
  })

  test('the earlier revision is served again after unpin(), even in the next process', async () => {
    const start = createProcesses()
    await using it = await start(pdf('First.'), true)
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'Second.'))
    const { revision } = it.skills.current.reports()[0] ?? {}
    await it.skills.review.pin('pdf', { revision: revision as `sha256:${string}` })
    expect(await it.bodyOf('pdf')).toBe('Second.')
    await it.skills.review.unpin('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['First.', 'mine:pending'])
    await it.skills.close()
    await using again = await start(pdf('Second.'), true)
    expect([await again.bodyOf('pdf'), again.statusOf('pdf')]).toEqual(['First.', 'mine:pending'])
  })
})

test('if the pinned revision is no longer stored, the last good revision is served instead of the newest', async () => {
  const decisions = new MemoryDecisions()
  const store = new MemorySkillStore()
  const first = { '/mine/pdf/SKILL.md': text('pdf', 'First.') }
  await (await open({}, { mine: first, state: { store, decisions } })).skills.close()
  const place = { origin: '/mine', location: 'pdf' }
  await decisions.record(place, { kind: 'pin', revision: `sha256:${'0'.repeat(64)}`, by: 'ada', at: 0 })
  const second = { '/mine/pdf/SKILL.md': text('pdf', 'Second.') }
  await using it = await open({}, { mine: second, state: { store, decisions } })
  expect(await it.bodyOf('pdf')).toBe('First.')
  await using without = await open({}, { mine: second, state: { decisions } })
  expect(without.skills.current.find('pdf')).toBeUndefined()
})

test('a name without a source selects the served skill, even if identical copies exist', async () => {
  const same = text('pdf', 'Same.')
  await using it = await open(
    { '/team/pdf/SKILL.md': same },
    { mine: { '/mine/pdf/SKILL.md': same, '/mine/more/pdf/SKILL.md': same } },
  )
  expect((await it.skills.review.disable('pdf')).source).toBe('mine')
})

describe('a text that an agent writes', () => {
  interface Writing {
    readonly session: SkillSession
    readonly write: (skill: string, path: string, content: string) => Promise<string>
  }
  function writing(skills: SkillRuntime, id: string): Writing {
    const session = skills.session({ id })
    // `writer()` writes to the first writable source. In a runtime of `openOwn()`, this is `mine`.
    const author = { name: 'the bot', conversation: session.conversation }
    const [write] = createAuthorTools(skills.writer(), { author })
    return {
      session,
      write: async (skill_name, relative_path, content) =>
        (await write?.execute({ skill_name, relative_path, content }))?.text ?? '',
    }
  }
  const load = async ({ session }: Writing, name: string): Promise<string> =>
    (await session.tools.find(tool => tool.name === 'skill')?.execute({ name }))?.text ?? ''

  async function openOwn(
    options: Partial<SkillRuntimeOptions> = {},
    files: Record<string, string> = {},
  ): Promise<Kit & AsyncDisposable> {
    const own = new MemoryFileSystem({ '/mine/pdf/SKILL.md': text('pdf', 'Human.'), ...files })
    const source = new FileSource({
      fileSystem: own,
      writable: own,
      root: '/mine',
      label: 'mine',
      watching: 'off',
    })
    const skills = await createSkillRuntime({
      sources: [source],
      tuning: { settle: NO_SETTLE },
      clock: new FakeClock(),
      ...options,
    })
    return {
      skills,
      team: own,
      mine: own,
      put: async (path, content) => {
        own.write(path, content)
        await skills.reload()
      },
      bodyOf: async name => await skills.readBody(skills.current.get(name)),
      statusOf: name => skills.current.reports().find(report => report.name === name)?.status ?? 'none',
      [Symbol.asyncDispose]: async () => await skills.close(),
    }
  }

  test(`a text that an agent wrote is live immediately in the agent's conversation, and after an approval in other conversations ${verifies('P35')}`, async () => {
    await using it = await openOwn()
    const [own, other] = [writing(it.skills, 'chat-1'), writing(it.skills, 'chat-2')]
    expect(await own.write('notes', 'SKILL.md', text('notes', 'New.'))).toContain('live in this conversation')
    expect(await own.write('pdf', 'SKILL.md', text('pdf', 'Agent.'))).toContain('live in this conversation')
    expect((await own.session.update())?.text).toContain('notes')
    expect(await other.session.update()).toBeUndefined()
    expect([await load(own, 'notes'), await load(own, 'pdf')]).toEqual([
      expect.stringContaining('New.'),
      expect.stringContaining('Agent.'),
    ])
    expect([await load(other, 'notes'), await load(other, 'pdf')]).toEqual([
      expect.stringContaining('no skill "notes"'),
      expect.stringContaining('Human.'),
    ])
    expect([it.statusOf('notes'), it.statusOf('pdf')]).toEqual(['pending', 'pending'])
    const [report] = it.skills.current.reports()
    expect(report?.diagnostics.at(-1)?.message).toMatch(/written by the bot on .* and not approved/)
    await it.skills.review.approveAll()
    expect((await other.session.update())?.text).toContain('notes')
    expect([await load(other, 'notes'), await it.bodyOf('pdf')]).toEqual([
      expect.stringContaining('New.'),
      'Agent.',
    ])
  })

  test('the text of the agent waits for approval even while the agent writes the next text', async () => {
    await using it = await openOwn({})
    const bodies = new Set<string | undefined>()
    it.skills.subscribe(({ generation }) => void bodies.add(generation.find('pdf')?.description))
    const own = writing(it.skills, 'chat-1')
    for (const description of ['First.', 'Second.', 'Third.'])
      await own.write(
        'pdf',
        'SKILL.md',
        text('pdf', 'Agent.').replace(/description: .*/, `description: ${description}`),
      )
    await it.skills.reload()
    expect([it.statusOf('pdf'), await it.bodyOf('pdf')]).toEqual(['pending', 'Human.'])
    expect([...bodies].filter(each => /First|Second|Third/.test(each ?? ''))).toEqual([])
  })

  test('an older text of the agent still waits for approval after a later text was approved', async () => {
    await using it = await openOwn()
    const own = writing(it.skills, 'chat-1')
    await own.write('pdf', 'SKILL.md', text('pdf', 'First.'))
    await own.write('pdf', 'SKILL.md', text('pdf', 'Second.'))
    await it.skills.review.approve('pdf')
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'First.'))
    expect([it.statusOf('pdf'), await it.bodyOf('pdf')]).toEqual(['pending', 'Second.'])
  })

  test.each(['scripts\n', 'scripts\n.skillignore\n', '*\n'])(
    'T59: a .skillignore of an agent with the rules %j waits for approval, and removes no file meanwhile',
    async rules => {
      await using it = await openOwn({}, { '/mine/pdf/scripts/check.sh': 'exit 1' })
      const paths = (): readonly string[] => it.skills.current.get('pdf').files.map(({ path }) => path)
      await writing(it.skills, 'chat-1').write('pdf', '.skillignore', rules)
      expect([it.statusOf('pdf'), paths()]).toEqual(['pending', ['SKILL.md', 'scripts/check.sh']])
      await it.skills.review.approve('pdf')
      expect(paths()).toEqual(['.skillignore', 'SKILL.md'])
    },
  )

  test('several files that an agent wrote form one skill, and the conversation of the agent can read these files', async () => {
    await using it = await openOwn()
    const own = writing(it.skills, 'chat-1')
    await own.write('notes', 'SKILL.md', text('notes', 'See references/a.md.'))
    await own.write('notes', 'references/a.md', 'Details.')
    await own.write('notes', 'references/a.md', 'Better details.')
    const read = own.session.tools.find(tool => tool.name === 'read_skill_file')
    await load(own, 'notes')
    expect((await read?.execute({ skill: 'notes', path: 'references/a.md' }))?.text).toContain(
      'Better details.',
    )
  })

  test('the text of the agent still waits for approval after a restart, and after a person edited another file', async () => {
    const [store, decisions] = [new MemorySkillStore(), new MemoryDecisions()]
    let files: Record<string, string>
    {
      await using it = await openOwn({ state: { store, decisions } })
      await writing(it.skills, 'chat-1').write('pdf', 'SKILL.md', text('pdf', 'Agent.'))
      files = { '/mine/pdf/SKILL.md': text('pdf', 'Agent.') }
    }
    await using it = await openOwn({ state: { store, decisions } }, files)
    expect(await it.bodyOf('pdf')).toBe('Human.')
    await it.put('/mine/pdf/extra.md', 'By hand.')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Human.', 'pending'])
    await it.put('/mine/pdf/SKILL.md', text('pdf', 'By hand.'))
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['By hand.', 'ok'])
  })

  test('the text of the agent is served while it is pinned, and waits for approval again after unpin()', async () => {
    await using it = await openOwn()
    await writing(it.skills, 'c').write('pdf', 'SKILL.md', text('pdf', 'Agent.'))
    const { revision } = it.skills.current.reports()[0] ?? {}
    await it.skills.review.pin('pdf', { revision: revision as `sha256:${string}` })
    expect(await it.bodyOf('pdf')).toBe('Agent.')
    await it.skills.review.unpin('pdf')
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Human.', 'pending'])
  })

  test('after the text of the agent is approved, edits of other files go live immediately, even after a restart', async () => {
    const [store, decisions] = [new MemorySkillStore(), new MemoryDecisions()]
    {
      await using it = await openOwn({ state: { store, decisions } })
      await writing(it.skills, 'chat-1').write('pdf', 'SKILL.md', text('pdf', 'Agent.'))
      await it.skills.review.approve('pdf')
      await it.put('/mine/pdf/extra.md', 'By hand.')
      expect([it.statusOf('pdf'), it.skills.current.get('pdf').files.length]).toEqual(['ok', 2])
    }
    await using it = await openOwn(
      { state: { store, decisions } },
      { '/mine/pdf/SKILL.md': text('pdf', 'Agent.'), '/mine/pdf/extra.md': 'By hand, again.' },
    )
    expect([await it.bodyOf('pdf'), it.statusOf('pdf')]).toEqual(['Agent.', 'ok'])
  })

  test('the text of the agent needs no approval if it equals the served text', async () => {
    await using it = await openOwn()
    await writing(it.skills, 'chat-1').write('pdf', 'SKILL.md', text('pdf', 'Human.'))
    await it.put('/mine/pdf/extra.md', 'By hand.')
    expect(it.statusOf('pdf')).toBe('ok')
  })

  test('with agentWrites: live, the text of the agent goes live immediately', async () => {
    await using it = await openOwn({ review: { agentWrites: 'live' } })
    await writing(it.skills, 'chat-1').write('pdf', 'SKILL.md', text('pdf', 'Agent.'))
    expect(await it.bodyOf('pdf')).toBe('Agent.')
  })
})

describe('the new capabilities of a revision', () => {
  async function grow(
    before: Record<string, string>,
    after: Record<string, string>,
  ): Promise<readonly string[]> {
    await using it = await open({}, { mine: before })
    const old = it.skills.current.find('a')
    for (const [path, content] of Object.entries(after)) await it.put(path, content)
    return describeNewCapabilities(old, it.skills.current.get('a'))
  }
  const path = '/mine/a/SKILL.md'

  test.each([
    ['a script', {}, { '/mine/a/scripts/run.sh': 'x' }, ['the script "scripts/run.sh" appears']],
    ['a script without an ending', {}, { '/mine/a/tools/run': 'x' }, ['the script "tools/run" appears']],
    ['an awk script', {}, { '/mine/a/tools/run.awk': 'x' }, ['the script "tools/run.awk" appears']],
    ['a licence', {}, { '/mine/a/LICENSE': 'x' }, []],
    ['an edited script', { '/mine/a/scripts/run.sh': 'x' }, { '/mine/a/scripts/run.sh': 'y' }, []],
    ['a text', {}, { '/mine/a/references/x.md': 'x' }, []],
    [
      'more tools',
      { [path]: text('a', 'x', 'allowed-tools: Read\n') },
      { [path]: text('a', 'x', 'allowed-tools: Read Bash\n') },
      ['allowed-tools names Bash'],
    ],
    [
      'fewer tools',
      { [path]: text('a', 'x', 'allowed-tools: Read Bash\n') },
      { [path]: text('a', 'x', 'allowed-tools: Read\n') },
      [],
    ],
    [
      'a first list of tools',
      {},
      { [path]: text('a', 'x', 'allowed-tools: Bash(curl:*)\n') },
      ['allowed-tools names Bash(curl:*)'],
    ],
    [
      'no list of tools',
      { [path]: text('a', 'x', 'allowed-tools: Read\n') },
      { [path]: text('a') },
      ['allowed-tools was removed, so every tool may be used'],
    ],
    [
      'fewer disallowed tools',
      { [path]: text('a', 'x', 'disallowed-tools: Bash Write\n') },
      { [path]: text('a', 'x', 'disallowed-tools: [Write]\n') },
      ['disallowed-tools no longer names Bash'],
    ],
    [
      'declared capabilities',
      { [path]: text('a', 'x', 'metadata:\n  capabilities: net\n') },
      { [path]: text('a', 'x', 'metadata:\n  capabilities: net exec\n') },
      ['metadata.capabilities asks for exec'],
    ],
  ])('describeNewCapabilities() compares: %s', async (_, before, after, expected) => {
    expect(await grow({ [path]: text('a'), ...before }, after)).toEqual(expected)
  })

  test('the report of a revision that waits for approval lists its new capabilities', async () => {
    await using it = await open({ '/team/a/SKILL.md': text('a') })
    await it.skills.review.approve('a')
    await it.put('/team/a/scripts/run.sh', 'x')
    expect(it.skills.review.pending()[0]?.diagnostics.at(-1)?.message).toContain(
      'new: the script "scripts/run.sh" appears',
    )
  })
})

test('decisions about a folder are combined in the order in which they were made', async () => {
  const decisions = new MemoryDecisions()
  const place = { origin: 'o', location: 'l' }
  const made: SkillDecision[] = [
    { kind: 'approve', revision: 'sha256:1' },
    { kind: 'reject', revision: 'sha256:1' },
    { kind: 'pin', revision: 'sha256:2' },
    { kind: 'disable' },
    { kind: 'unpin' },
  ]
  for (const [at, decision] of made.entries()) await decisions.record(place, { ...decision, by: 'ada', at })
  const found = decisions.find(place)
  expect([found?.approved.size, found?.rejected.get('sha256:1'), found?.pinned, found?.disabled]).toEqual([
    0,
    { by: 'ada', at: 1 },
    undefined,
    { by: 'ada', at: 3 },
  ])
  expect((await decisions.list(place)).map(({ kind }) => kind)).toEqual(made.map(({ kind }) => kind))
})
