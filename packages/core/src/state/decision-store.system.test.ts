import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createSkillRuntime, type SkillRuntime } from '../index.ts'
import { directory, openDecisions, openSkillStore } from '../node-entry.ts'
import { type DecisionStore, MemoryDecisions } from '../source-entry.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'decisions-'))
  mkdirSync(join(folder, 'skills/pdf'), { recursive: true })
  write('First.')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function write(body: string): void {
  writeFileSync(join(folder, 'skills/pdf/SKILL.md'), `---\nname: pdf\ndescription: Does it.\n---\n${body}\n`)
}

const open = async (): Promise<SkillRuntime> =>
  await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { trust: 'review' })],
    state: {
      store: await openSkillStore(join(folder, 'state')),
      decisions: await openDecisions(join(folder, 'state')),
    },
  })

const bodyOf = async (skills: SkillRuntime): Promise<string> =>
  await skills.readBody(skills.current.get('pdf'))

for (const [name, create] of [
  ['memory', async (): Promise<DecisionStore> => new MemoryDecisions()],
  ['sqlite', async (): Promise<DecisionStore> => await openDecisions(join(folder, 'state'))],
] as const) {
  test(`decisions in ${name}: finds, lists and reports the recorded decisions of each folder`, async () => {
    const decisions = await create()
    const place = { origin: '/a', location: 'pdf' }
    const told: unknown[] = []
    decisions.subscribe(made => void told.push(made))
    const approval = { kind: 'approve', revision: 'sha256:1', by: 'ada', at: 1 } as const
    await decisions.record(place, approval)
    expect(decisions.find(place)?.approved.get('sha256:1')).toEqual({ by: 'ada', at: 1 })
    expect(decisions.find({ origin: '/a/pdf', location: '' })).toBeUndefined()
    expect(await decisions.list(place)).toEqual([approval])
    expect(told).toEqual([[{ place, decision: approval }]])
    await decisions.close()
  })
}

test('a restarted runtime serves the approved text, and holds a text that was written while no runtime was open', async () => {
  {
    await using skills = await open()
    await skills.review.approve('pdf', { by: 'ada' })
  }
  write('Second.')
  await using skills = await open()
  expect(await bodyOf(skills)).toBe('First.')
  expect(skills.review.pending()).toHaveLength(1)
  expect(await skills.review.decisions('pdf')).toMatchObject([{ kind: 'approve', by: 'ada' }])
})

test('a process applies decisions that another process records', async () => {
  await using skills = await open()
  const shown = new Promise<void>(resolve => {
    skills.subscribe(({ changes }) => {
      if (changes.some(({ kind }) => kind === 'added')) resolve()
    })
  })
  const script = `
    import { createSkillRuntime } from '@skillstoke/core'
    import { directory, openDecisions } from '@skillstoke/core/node'
    const sources = [directory(${JSON.stringify(join(folder, 'skills'))}, { trust: 'review' })]
    const decisions = await openDecisions(${JSON.stringify(join(folder, 'state'))})
    const skills = await createSkillRuntime({ sources, state: { decisions } })
    await skills.review.approve('pdf', { by: 'another process' })
    await skills.close()
  `
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  await shown
  expect(await bodyOf(skills)).toBe('First.')
})

test('only the user of the process can read the decisions, and calls on a closed decision store fail', async () => {
  const decisions = await openDecisions(join(folder, 'state'))
  expect(statSync(join(folder, 'state/decisions.sqlite')).mode & 0o77).toBe(0)
  await decisions.close()
  await decisions.close()
  await expect(
    decisions.record({ origin: 'a', location: 'b' }, { kind: 'disable', by: 'x', at: 1 }),
  ).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(decisions.list({ origin: 'a', location: 'b' })).rejects.toMatchObject({ code: 'CLOSED' })
})

const disable = { kind: 'disable', by: 'x', at: 1 } as const

test('after the removal of the state directory, earlier decisions of other processes are still applied, and a new decision is refused', async () => {
  const state = join(folder, 'state')
  // The interval is so long that no store polls for decisions of the other store during the test.
  const [one, two] = [
    await openDecisions(state, { pollMs: 1e9 }),
    await openDecisions(state, { pollMs: 1e9 }),
  ]
  const [early, late, own] = ['early', 'late', 'own'].map(location => ({ origin: 'a', location }))
  if (early === undefined || late === undefined || own === undefined) throw new Error('no places')
  await two.record(early, disable)
  const told: string[] = []
  two.subscribe(made => void told.push(...made.map(({ place }) => place.location)))
  await one.record(late, disable)
  rmSync(state, { recursive: true })
  await expect(two.record(own, disable)).rejects.toMatchObject({
    code: 'IO_FAILED',
    message: expect.stringContaining('were removed or replaced while they were in use'),
  })
  two.refresh?.()
  expect(told).toEqual(['late'])
  expect([early, late, own].map(place => two.find(place)?.disabled !== undefined)).toEqual([
    true,
    true,
    false,
  ])
  await one.close()
  await two.close()
})

test('if the database is damaged during use, known decisions stay in force and new decisions are refused', async () => {
  const state = join(folder, 'state')
  const places = Array.from({ length: 500 }, (_, index) => ({ origin: 'a', location: `skill-${index}` }))
  {
    const decisions = await openDecisions(state)
    for (const place of places) await decisions.record(place, disable)
    await decisions.close()
  }
  const decisions = await openDecisions(state, { pollMs: 1 })
  const path = join(state, 'decisions.sqlite')
  writeFileSync(path, readFileSync(path).fill(0x5a, 4_096))
  const another = new DatabaseSync(path)
  // After this write, the store must read the damaged pages of the database again.
  another.exec('CREATE TABLE note (id INTEGER); DROP TABLE note')
  another.close()
  const damaged = { code: 'IO_FAILED', message: expect.stringContaining('the decisions are damaged (') }
  for (const place of [places[0], places.at(-1)]) {
    if (place === undefined) throw new Error('no place')
    await expect(decisions.list(place)).rejects.toMatchObject(damaged)
    await expect(decisions.record(place, disable)).rejects.toMatchObject(damaged)
    expect(decisions.find(place)?.disabled).toBeDefined()
  }
  await decisions.close()
  const again = await openDecisions(state)
  expect(again.damage).toBeDefined()
  await again.close()
})

test('a decision is refused with the reason while another process locks the decisions', async () => {
  const decisions = await openDecisions(join(folder, 'state'))
  onTestFinished(async () => await decisions.close())
  using lock = new DatabaseSync(join(folder, 'state/decisions.sqlite'))
  lock.exec('BEGIN IMMEDIATE')
  const place = { origin: '/a', location: 'pdf' }
  const disable = { kind: 'disable', by: 'ada', at: 1 } as const
  await expect(decisions.record(place, disable)).rejects.toMatchObject({
    code: 'IO_FAILED',
    message: expect.stringMatching(/cannot be stored: .*locked; nothing was decided/),
  })
  expect(decisions.find(place)).toBeUndefined()
  lock.exec('ROLLBACK')
  await decisions.record(place, disable)
  expect(decisions.find(place)?.disabled).toBeDefined()
})
