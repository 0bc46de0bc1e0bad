import { describe, expect, test } from 'vitest'
import {
  createAuthorTools,
  createSkillRuntime,
  type Digest,
  type SkillRuntime,
  type SkillRuntimeOptions,
} from '../index.ts'
import {
  FileSource,
  MemoryFileSystem,
  MemoryRevisionLog,
  MemorySkillStore,
  NO_SETTLE,
} from '../source-entry.ts'
import { FakeClock } from '../testing/index.ts'

const text = (name: string, body = 'Body.', extra = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${extra}---\n${body}\n`

/** A log that stays usable after `close()`, so that the next runtime can use it. */
class LastingLog extends MemoryRevisionLog {
  override async close(): Promise<void> {}
}

interface Kit extends AsyncDisposable {
  readonly skills: SkillRuntime
  readonly files: MemoryFileSystem
  readonly clock: FakeClock
  put(path: string, content: string): Promise<void>
  body(): Promise<string>
  log(): Promise<string[]>
}

async function open(
  options: Partial<SkillRuntimeOptions> & { readonly isReadOnly?: boolean; readonly trust?: 'review' } = {},
  files: MemoryFileSystem = new MemoryFileSystem({ '/s/pdf/SKILL.md': text('pdf', 'First.') }),
): Promise<Kit> {
  const { isReadOnly, trust, ...rest } = options
  const clock = new FakeClock()
  const source = new FileSource({
    fileSystem: files,
    ...(isReadOnly === true ? {} : { writable: files }),
    ...(trust === undefined ? {} : { trust }),
    root: '/s',
    label: 's',
    watching: 'off',
  })
  const skills = await createSkillRuntime({
    sources: [source],
    tuning: { settle: NO_SETTLE },
    clock,
    ...rest,
    state: { history: new MemoryRevisionLog(), ...rest.state },
  })
  return {
    skills,
    files,
    clock,
    async put(path, content) {
      await clock.advance(1000)
      files.write(path, content)
      await skills.reload()
      await skills.delivered()
    },
    body: async () => await skills.readBody(skills.current.get('pdf')),
    async log() {
      const records = await skills.history.log('pdf')
      return records.map(({ event, cause, author, revision }) =>
        [event, cause, author.name ?? author.kind, revision === undefined ? '' : 'r']
          .filter(Boolean)
          .join(' '),
      )
    },
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

async function read({ files }: Kit, path: string): Promise<string> {
  const { bytes } = await files.read(path, { inside: ['/s'], maxBytes: 10_000 })
  return Buffer.from(bytes).toString()
}

describe('log()', () => {
  test('log() lists a decision without immediate effect, and does not list this decision as the cause of a later change', async () => {
    await using it = await open()
    const { review } = it.skills
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await it.clock.advance(1)
    await review.pin('pdf', { by: 'ann', note: 'for the fair' })
    await it.clock.advance(1)
    await review.unpin('pdf', { by: 'ann' })
    await it.clock.advance(3_600_000)
    await it.put('/s/pdf/SKILL.md', text('pdf', 'First.'))
    expect(await it.log()).toEqual([
      'live edit person r',
      'decided unpin ann',
      'decided pin ann r',
      'live edit person r',
      'live found person r',
    ])
    expect((await it.skills.history.log('pdf'))[2]?.note).toBe('for the fair')
  })

  test('log() lists every revision once, newest first, with its time', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await it.skills.reload()
    const records = await it.skills.history.log('pdf')
    expect(records.map(({ event, cause, at }) => [event, cause, at - Date.UTC(2026, 0, 1)])).toEqual([
      ['live', 'edit', 1000],
      ['live', 'found', 0],
    ])
    expect(records[0]?.revision).toBe(it.skills.current.get('pdf').revision)
    it.files.remove('/s/pdf')
    await it.skills.reload()
    await it.skills.delivered()
    expect((await it.log())[0]).toBe('removed removal person')
    await expect(it.skills.history.log('nope')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Third.'))
    expect((await it.log()).slice(0, 2)).toEqual(['live edit person r', 'removed removal person'])
  })

  test('log() names the author of an approval, and the agent that wrote a text', async () => {
    await using it = await open()
    const [write] = createAuthorTools(it.skills.writer(), { author: { name: 'the bot' } })
    await write?.execute({ skill_name: 'pdf', relative_path: 'SKILL.md', content: text('pdf', 'Agent.') })
    await it.skills.review.approve('pdf', { by: 'ada', note: 'fine' })
    expect(await it.log()).toEqual(['live approve ada r', 'held write the bot r', 'live found person r'])
    expect((await it.skills.history.log('pdf'))[0]?.note).toBe('fine')
  })

  test('log() lists author, note and kind of each decision, even if the skill is not served after the decision', async () => {
    await using it = await open({ trust: 'review' })
    await it.skills.review.approve('pdf', { by: 'ada' })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Evil.'))
    await it.skills.review.reject('pdf', { by: 'eve', note: 'asks for secrets' })
    await it.skills.review.disable('pdf', { by: 'bob', note: 'incident' })
    await it.clock.advance(1000)
    await it.skills.review.enable('pdf', { by: 'cyd' })
    await it.skills.delivered()
    expect(await it.log()).toEqual([
      'live enable cyd r',
      'removed disable bob',
      'held edit person r',
      'decided reject eve r',
      'live approve ada r',
      'held found person r',
    ])
    const notes = (await it.skills.history.log('pdf')).flatMap(({ note }) => note ?? [])
    expect(notes).toEqual(['incident', 'asks for secrets'])
  })

  test('log() names the editor, not an earlier decision, as the cause of a later edit', async () => {
    await using it = await open()
    await it.skills.review.disable('pdf', { by: 'bob' })
    await it.skills.review.enable('pdf', { by: 'bob' })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    expect((await it.log())[0]).toBe('live edit person r')
  })

  test('log() names agents even if their texts go live immediately', async () => {
    await using it = await open({ review: { agentWrites: 'live' } })
    const [write] = createAuthorTools(it.skills.writer(), { author: { name: 'the bot' } })
    await write?.execute({ skill_name: 'pdf', relative_path: 'SKILL.md', content: text('pdf', 'Agent.') })
    expect((await it.log())[0]).toBe('live write the bot r')
  })

  test('when a skill gets a new name but keeps its folder, log() adds one step with the new name', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('maps', 'Second.'))
    const records = await it.skills.history.log('maps')
    expect(records.map(({ name, event }) => [name, event])).toEqual([
      ['maps', 'live'],
      ['pdf', 'live'],
    ])
  })

  test('log() does not list a broken text', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', '---\nname: "pdf\n---\n')
    expect(await it.log()).toEqual(['live found person r'])
  })

  test('garbage collection keeps the revisions that log() lists', async () => {
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock, graceMs: 10 })
    await using it = await open({ state: { store } })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await clock.advance(1000)
    const { before } = await it.skills.history.diff('pdf')
    expect(Buffer.from(await it.skills.readFile(before as never, 'SKILL.md')).toString()).toBe(
      text('pdf', 'First.'),
    )
  })

  test('log() fails if the runtime records no history', async () => {
    const skills = await createSkillRuntime({ sources: [] })
    await expect(skills.history.log('pdf')).rejects.toThrow(
      /no history is kept; pass a log to createSkillRuntime/,
    )
    await skills.close()
  })
})

describe('diff()', () => {
  test('diff() lists changed fields, instructions, files and new capabilities', async () => {
    await using it = await open()
    it.files.write('/s/pdf/old.md', 'Old.')
    await it.skills.reload()
    const first = it.skills.current.get('pdf').revision
    it.files.remove('/s/pdf/old.md')
    it.files.write('/s/pdf/scripts/run.sh', 'x')
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.', 'license: MIT\n').replace('Does pdf', 'Makes pdf'))
    const diff = await it.skills.history.diff('pdf', first.slice(7, 15))
    expect(diff.fields).toEqual([
      { field: 'description', before: 'Does pdf.', after: 'Makes pdf.' },
      { field: 'license', after: 'MIT' },
    ])
    expect(diff.isBodyChanged).toBe(true)
    expect(
      diff.files.map(({ path, before, after }) => [path, before !== undefined, after !== undefined]),
    ).toEqual([
      ['SKILL.md', true, true],
      ['old.md', true, false],
      ['scripts/run.sh', false, true],
    ])
    expect(diff.newCapabilities).toEqual(['the script "scripts/run.sh" appears'])
    expect([diff.from, diff.to]).toEqual([first, it.skills.current.get('pdf').revision])
  })

  test('diff() by default compares the served revision with the revision that waits for approval', async () => {
    await using it = await open({ review: { isFrozen: true } })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Waits.'))
    const [report] = it.skills.current.reports()
    expect(await it.skills.history.diff('pdf')).toMatchObject({ from: report?.serving, to: report?.revision })
  })

  test.each([
    ['zz', 'INVALID_OPTION'],
    ['0000000000', 'REVISION_NOT_FOUND'],
    ['0'.repeat(64), 'REVISION_NOT_FOUND'],
  ])('diff() fails for revision %j with %s', async (revision, code) => {
    await using it = await open()
    await expect(it.skills.history.diff('pdf', revision)).rejects.toMatchObject({ code })
  })
})

describe('rollback()', () => {
  test('rollback() writes the old text as a new change, which a second rollback can undo', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    expect(await it.skills.history.rollback('pdf', { by: 'ada' })).toMatchObject({
      skill: 'pdf',
      how: 'written',
    })
    expect([await it.body(), await read(it, '/s/pdf/SKILL.md')]).toEqual(['First.', text('pdf', 'First.')])
    await it.skills.delivered()
    expect((await it.log())[0]).toBe('live rollback ada r')
    await it.skills.history.rollback('pdf')
    expect(await it.body()).toBe('Second.')
  })

  test('rollback() restores all files of a revision in one step, and keeps the replaced files in the trash', async () => {
    await using it = await open()
    it.files.write('/s/pdf/references/a.md', 'A.')
    await it.put('/s/pdf/b.md', 'B.')
    const { revision } = it.skills.current.get('pdf')
    it.files.remove('/s/pdf/references')
    it.files.write('/s/pdf/c.md', 'C.')
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    const seen: string[][] = []
    it.skills.subscribe(
      ({ generation }) => void seen.push(generation.get('pdf').files.map(({ path }) => path)),
    )
    await it.skills.history.rollback('pdf', { revision: revision.slice(7) })
    await it.skills.delivered()
    expect(seen).toEqual([['SKILL.md', 'b.md', 'references/a.md']])
    expect(it.skills.current.get('pdf').revision).toBe(revision)
    const [aside] = (await it.files.list('/s/.trash')).filter(({ name }) => name.startsWith('pdf-'))
    expect(await read(it, `/s/.trash/${aside?.name}/c.md`)).toBe('C.')
  })

  test('T40: rollback() refuses the first digits of a digest and names the whole digest; planRollback() accepts the first digits', async () => {
    await using it = await open()
    const { revision } = it.skills.current.get('pdf')
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await expect(
      it.skills.history.rollback('pdf', { revision: revision.slice(7, 15) }),
    ).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(new RegExp(`is not a whole digest, .* use ${revision}$`)),
    })
    expect(await it.body()).toBe('Second.')
    expect((await it.skills.history.planRollback('pdf', revision.slice(7, 15))).to).toBe(revision)
  })

  test('rollback() changes nothing if the revision is already current and served, and planRollback() returns "unchanged"', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    const { history, current } = it.skills
    const { revision } = current.get('pdf')
    const plan = await history.planRollback('pdf', revision.slice(7, 15))
    expect(plan).toEqual({ skill: 'pdf', from: revision, to: revision, how: 'unchanged' })
    const steps = await it.log()
    expect(await history.rollback('pdf', { revision })).toEqual(plan)
    expect(await history.planRollback('pdf')).toMatchObject({ how: 'written', from: revision })
    expect([await it.log(), await it.body()]).toEqual([steps, 'Second.'])
  })

  test('rollback() replaces a broken text with the served revision', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', '---\nname: "pdf\n---\n')
    await it.skills.history.rollback('pdf')
    expect([await read(it, '/s/pdf/SKILL.md'), it.skills.current.reports()[0]?.status]).toEqual([
      text('pdf', 'First.'),
      'ok',
    ])
  })

  test('rollback() restores a skill that was removed while no process ran, even if several sources have a history', async () => {
    const history = new LastingLog()
    const store = new MemorySkillStore()
    const other = new MemoryFileSystem({ '/other/pdf/SKILL.md': text('pdf', 'Other.') })
    const source = new FileSource({ fileSystem: other, root: '/other', label: 's', watching: 'off' })
    await (await createSkillRuntime({ sources: [source], state: { store, history } })).close()
    const files = new MemoryFileSystem({ '/s/pdf/SKILL.md': text('pdf', 'First.') })
    await (await open({ state: { history, store } }, files)).skills.close()
    files.remove('/s/pdf')
    await using it = await open({ state: { history, store } }, files)
    expect((await it.log())[0]).toBe('live found person r')
    expect(await it.skills.history.rollback('pdf')).toMatchObject({ skill: 'pdf', how: 'written' })
    expect(await it.body()).toBe('First.')
  })

  test('rollback() restores a removed skill', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    it.files.remove('/s/pdf')
    await it.skills.reload()
    expect(it.skills.current.find('pdf')).toBeUndefined()
    expect(await it.skills.history.rollback('pdf')).toMatchObject({ skill: 'pdf', how: 'written' })
    expect(await it.body()).toBe('Second.')
    expect(await it.skills.history.rollback('s/pdf')).toMatchObject({ how: 'written' })
    expect(await it.body()).toBe('First.')
  })

  test('rollback() refuses to restore a skill that was removed from a read-only source', async () => {
    await using it = await open({ isReadOnly: true })
    it.files.remove('/s/pdf')
    await it.skills.reload()
    await expect(it.skills.history.rollback('pdf')).rejects.toMatchObject({
      code: 'READ_ONLY',
      message: '"pdf" was removed from the source "s", which is read-only',
    })
  })

  test('rollback() refuses a rejected revision', async () => {
    await using it = await open()
    const first = it.skills.current.get('pdf').revision
    await it.skills.review.reject('pdf', { by: 'eve' })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await expect(it.skills.history.rollback('pdf', { revision: first })).rejects.toThrow(
      /was rejected by eve; to serve it anyway, pin it/,
    )
    expect(await it.body()).toBe('Second.')
    await expect(it.skills.history.rollback('pdf')).rejects.toThrow(/"pdf" has no earlier revision/)
  })

  test('rollback() pins the old revision in a read-only source', async () => {
    await using it = await open({ isReadOnly: true })
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    expect(await it.skills.history.rollback('pdf')).toMatchObject({ how: 'pinned' })
    expect([await it.body(), await read(it, '/s/pdf/SKILL.md')]).toEqual(['First.', text('pdf', 'Second.')])
    await it.skills.delivered()
    expect((await it.log())[0]).toBe('live rollback somebody r')
  })

  test('rollback() does not overwrite a text that was written since the last scan', async () => {
    await using it = await open()
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    it.files.write('/s/pdf/SKILL.md', text('pdf', 'Meanwhile.'))
    await expect(it.skills.history.rollback('pdf')).rejects.toMatchObject({ code: 'CHANGED_SINCE_READ' })
    expect(await read(it, '/s/pdf/SKILL.md')).toBe(text('pdf', 'Meanwhile.'))
  })

  test('rollback() replaces the unapproved text of an agent with the served revision', async () => {
    await using it = await open()
    const [write] = createAuthorTools(it.skills.writer(), { author: { name: 'the bot' } })
    await write?.execute({ skill_name: 'pdf', relative_path: 'SKILL.md', content: text('pdf', 'Agent.') })
    await it.skills.history.rollback('pdf')
    expect([await it.body(), await read(it, '/s/pdf/SKILL.md')]).toEqual(['First.', text('pdf', 'First.')])
    expect(it.skills.review.pending()).toEqual([])
  })

  test('rollback() fails when there is no earlier revision', async () => {
    await using it = await open()
    await expect(it.skills.history.rollback('pdf')).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' })
  })

  test('rollback() to an earlier approved revision of a reviewed source needs no new approval', async () => {
    await using it = await open({ trust: 'review' })
    await it.skills.review.approve('pdf')
    await it.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await it.skills.review.approve('pdf')
    await it.skills.history.rollback('pdf')
    expect([await it.body(), it.skills.current.reports()[0]?.status]).toEqual(['First.', 'ok'])
  })
})

/** Simulates the disk of a killed process: after `remaining` writes, every write fails. */
class DyingFileSystem extends MemoryFileSystem {
  remaining = Number.POSITIVE_INFINITY

  // This method is not private, because the base constructor calls it before private methods exist.
  spend(): void {
    if (this.remaining-- <= 0) throw new Error('killed')
  }

  override write(...args: Parameters<MemoryFileSystem['write']>): void {
    this.spend()
    super.write(...args)
  }

  override remove(...args: Parameters<MemoryFileSystem['remove']>): void {
    this.spend()
    super.remove(...args)
  }

  override move(...args: Parameters<MemoryFileSystem['move']>): void {
    this.spend()
    super.move(...args)
  }
}

test('if the process is killed during rollback(), the next process finds either the old folder or the new folder', async () => {
  const outcomes = new Set<string>()
  for (let writes = 0; ; writes++) {
    const files = new DyingFileSystem({ '/s/pdf/SKILL.md': text('pdf', 'First.'), '/s/pdf/a.md': 'First.' })
    const history = new MemoryRevisionLog()
    const store = new MemorySkillStore()
    const dying = await open({ state: { history, store } }, files)
    files.write('/s/pdf/a.md', 'Second.')
    await dying.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    files.remaining = writes
    const isDone = await dying.skills.history.rollback('pdf').then(
      () => true,
      () => false,
    )
    files.remaining = Number.POSITIVE_INFINITY
    await using it = await open({}, files)
    const skill = it.skills.current.get('pdf')
    const parts = [await it.body(), await read(it, '/s/pdf/a.md')]
    expect([skill.files.length, new Set(parts).size]).toEqual([2, 1])
    outcomes.add(parts[0] as string)
    expect((await files.list('/s')).map(({ name }) => name).filter(name => name !== '.trash')).toEqual([
      'pdf',
    ])
    if (isDone) break
  }
  expect([...outcomes].sort()).toEqual(['First.', 'Second.'])
})

test('the store removes the files of revisions that the history no longer lists', async () => {
  const clock = new FakeClock()
  const store = new MemorySkillStore({ clock, graceMs: 10 })
  await using kit = await open({ clock, state: { store, history: new MemoryRevisionLog({ maxRecords: 3 }) } })
  const first = kit.skills.current.get('pdf').revision
  await kit.put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
  const second = kit.skills.current.get('pdf').revision
  for (const body of ['Third.', 'Fourth.', 'Fifth.']) await kit.put('/s/pdf/SKILL.md', text('pdf', body))
  await clock.advance(100)
  const listed = await kit.skills.history.log('pdf')
  expect(listed).toHaveLength(3)
  for (const { revision } of listed) expect(await store.getTree(revision as Digest)).toBeDefined()
  for (const revision of [first, second]) expect(await store.getTree(revision)).toBeUndefined()
})
