import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { openUsageLog, type UsageCount } from './usage-log.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const load = { kind: 'load', name: 'pdf', revision: 'sha256:a', client: 'cursor' } as const
const shown = ({ name, revision, client, count }: UsageCount): string =>
  [name, revision, client, count].filter(Boolean).join(' ')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillstoke-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('UsageLog counts by day, name, revision and client, also over two processes', async () => {
  const clock = new FakeClock()
  const [first, second] = [await openUsageLog(folder, clock), await openUsageLog(folder, clock)]
  first.add(load)
  first.add({ ...load, revision: 'sha256:b' })
  second.add(load)
  second.add({ kind: 'miss', name: 'vat report', revision: '', client: 'chat' })
  first.close()
  expect(second.list(1).map(shown)).toEqual([
    'pdf sha256:a cursor 2',
    'pdf sha256:b cursor 1',
    'vat report chat 1',
  ])
  second.close()
})

test('UsageLog writes at once, and lists only the wanted days', async () => {
  const clock = new FakeClock()
  const log = await openUsageLog(folder, clock)
  log.add(load)
  const other = await openUsageLog(folder, clock)
  expect(other.list(1)).toHaveLength(1)
  await clock.advance(DAY_MS)
  expect([log.list(1), log.list(2).map(({ count }) => count)]).toEqual([[], [1]])
  log.close()
  other.close()
})

test('UsageLog keeps the last 90 days with uses, even after a day with a wrong clock', async () => {
  const clock = new FakeClock()
  const log = await openUsageLog(folder, clock)
  for (let day = 0; day < 100; day++) {
    log.add(load)
    await clock.advance(DAY_MS)
  }
  expect(log.list(1_000)).toHaveLength(90)
  const wrong = await openUsageLog(folder, new FakeClock(clock.now() + 200 * DAY_MS))
  wrong.add(load)
  wrong.close()
  expect(log.list(1_000)).toHaveLength(89)
  log.close()
})

test('UsageLog cuts long texts and stores a limited number of rows for a day', async () => {
  const log = await openUsageLog(folder, new FakeClock())
  for (let index = 0; index < 6_000; index++)
    log.add({ kind: 'miss', name: `${index} ${'x'.repeat(1_000)}`, revision: '', client: 'chat' })
  const rows = log.list(1)
  expect([rows.length, Math.max(...rows.map(({ name }) => name.length))]).toEqual([5_000, 200])
  log.add({ ...load, kind: 'miss', name: 'one more' })
  expect(log.list(1)).toHaveLength(5_000)
  log.close()
})
