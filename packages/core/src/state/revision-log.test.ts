import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openRevisionLog } from '../node-entry.ts'
import { MemoryRevisionLog, type RevisionLog, type RevisionRecord } from '../source-entry.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'revisions-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const record = (revision: number, more: Partial<RevisionRecord> = {}): RevisionRecord => ({
  origin: '/a',
  location: 'pdf',
  source: 'a',
  name: 'pdf',
  revision: `sha256:${revision}`,
  event: 'live',
  cause: 'edit',
  author: { kind: 'person' },
  at: revision,
  ...more,
})
const place = { origin: '/a', location: 'pdf' }

for (const [name, create] of [
  ['memory', async (): Promise<RevisionLog> => new MemoryRevisionLog({ maxRecords: 3 })],
  ['sqlite', async (): Promise<RevisionLog> => await openRevisionLog(folder, { maxRecords: 3 })],
] as const) {
  test(`a history in ${name}: lists the newest steps first, keeps at most maxRecords steps per folder, and returns the dropped steps`, async () => {
    const log = await create()
    expect(await log.append([1, 2, 3, 4, 5].map(each => record(each)))).toEqual([record(1), record(2)])
    expect(await log.append([record(9, { location: 'docx', note: 'A note.' })])).toEqual([])
    expect((await log.list(place)).map(({ at }) => at)).toEqual([5, 4, 3])
    expect(log.last(place)).toEqual(record(5))
    expect(await log.list({ origin: '/a', location: 'docx' })).toEqual([
      record(9, { location: 'docx', note: 'A note.' }),
    ])
    expect([
      log.last({ origin: '/b', location: 'pdf' }),
      await log.list({ origin: '/b', location: 'pdf' }),
    ]).toEqual([undefined, []])
    await log.close()
  })
}

test('if two processes see the same change, it is recorded only once', async () => {
  const [one, two] = [await openRevisionLog(folder), await openRevisionLog(folder)]
  await one.append([record(1)])
  await two.append([record(1), record(2)])
  await one.append([record(2)])
  expect((await one.list(place)).map(({ at }) => at)).toEqual([2, 1])
  await Promise.all([one.close(), two.close()])
  await one.close()
  await expect(one.append([record(3)])).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(one.list(place)).rejects.toMatchObject({ code: 'CLOSED' })
})

test('a history keeps thousands of concurrent records, and only the user of the process can read them', async () => {
  const log = await openRevisionLog(folder)
  const many = Array.from({ length: 2_300 }, (_, index) => record(1, { location: `skill-${index}` }))
  await log.append(many)
  expect(log.last({ origin: '/a', location: 'skill-2299' })).toBeDefined()
  expect(statSync(join(folder, 'history.sqlite')).mode & 0o77).toBe(0)
  await log.close()
})

test('when a query finds that the history is damaged, the history is moved aside and its readable steps are kept', async () => {
  const first = await openRevisionLog(folder)
  await first.append(Array.from({ length: 2_000 }, (_, index) => record(1, { location: `skill-${index}` })))
  await first.close()
  const log = await openRevisionLog(folder)
  const path = join(folder, 'history.sqlite')
  const bytes = readFileSync(path)
  // Overwrites the second half of the table pages and the end of the index pages.
  writeFileSync(path, bytes.fill(0x5a, bytes.length / 2))
  const kept: number[] = []
  for (let index = 0; index < 2_000; index++)
    if ((await log.list({ origin: '/a', location: `skill-${index}` })).length > 0) kept.push(index)
  expect(kept.length).toBeGreaterThan(100)
  const moved = /^the steps of the history in ".*" are damaged \(.*\) and were moved to ".*\.damaged-\d+"$/
  expect(log.damage).toMatch(moved)
  await log.append([record(2)])
  expect(log.last(place)).toEqual(record(2))
  expect(log.lasts()).toHaveLength(kept.length + 1)
  await log.close()
  expect(readdirSync(folder).filter(name => /^history\.sqlite\.damaged-\d+$/.test(name))).toHaveLength(1)
  const again = await openRevisionLog(folder)
  expect(again.lasts()).toHaveLength(kept.length + 1)
  expect(again.damage).toBeUndefined()
  await again.close()
  writeFileSync(path, 'no database at all')
  const last = await openRevisionLog(folder)
  expect([last.damage, last.lasts()]).toEqual([expect.stringMatching(moved), []])
  await last.close()
})
