import { expect, test } from 'vitest'
import type { FileStat } from '../fs/file-system.ts'
import {
  type BelievedText,
  HALF_WRITTEN_MS,
  looksHalfWritten,
  noteDoubt,
  toBelieved,
} from './half-written.ts'

const NOW = 1_000_000
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const statOf = (facts: Partial<FileStat> = {}): FileStat => ({
  kind: 'file',
  size: 0,
  mtimeMs: NOW - 10,
  ctimeMs: NOW - 10,
  ino: 1,
  dev: 1,
  birthtimeMs: 1,
  isExecutable: false,
  links: 1,
  ...facts,
})
const FORMER = bytesOf('first line\nsecond line\na third line that is quite a bit longer\n')
const BEFORE = toBelieved(statOf(), FORMER)
const looks = async (stat: FileStat, text: string, before: BelievedText | undefined): Promise<boolean> =>
  await looksHalfWritten({
    stat,
    bytes: bytesOf(text),
    before,
    readAt: NOW,
    now: NOW,
    readBefore: async () => FORMER,
  })

const LONG = 'first line\nsecond line\na third line that is quite a bit longer\n'

test.each([
  ['much shorter in place', 'first line\n', {}, true],
  ['empty in place', '', {}, true],
  ['longer, and ends in the middle of a line', `${LONG}fourth`, {}, true],
  ['longer, and ends with a line', `${LONG}fourth line\n`, {}, false],
  ['of the same length in place', LONG.toUpperCase(), {}, false],
  ['a word shorter in place', 'first line\nsecond line\na third line that is quite a bit long\n', {}, false],
  ['a word shorter in place, without its final line feed', LONG.slice(0, -2), {}, true],
  ['much shorter in another file', 'first line\n', { ino: 2 }, false],
  ['in another file, and ends in the middle of a line', 'first', { ino: 2 }, true],
  ['shorter, and moved into its place', 'first', { ino: 2, ctimeMs: NOW - 5 }, false],
  [
    'shorter, and not written for a while',
    'first',
    { mtimeMs: NOW - HALF_WRITTEN_MS, ctimeMs: NOW - HALF_WRITTEN_MS },
    false,
  ],
  [
    'shorter, with a modification time in the future',
    'first',
    { mtimeMs: NOW + 60_000, ctimeMs: NOW + 60_000 },
    false,
  ],
] as const)('a text that is %s: half-written is %4$s', async (_, text, facts, expected) => {
  expect(await looks(statOf(facts), text, BEFORE)).toBe(expected)
})

test('a slightly shorter text looks half-written if it is the beginning of the former text', async () => {
  const former = bytesOf('line\n'.repeat(40))
  const before = toBelieved(statOf(), former)
  const bytes = former.slice(0, former.length - 5)
  const text = { stat: statOf(), bytes, before, readAt: NOW, now: NOW }
  expect(await looksHalfWritten({ ...text, readBefore: async () => former })).toBe(true)
  expect(await looksHalfWritten({ ...text, readBefore: async () => undefined })).toBe(false)
})

test('a text without a final line feed is accepted only if the former text also had no final line feed', async () => {
  expect(await looks(statOf(), '---\nname', undefined)).toBe(true)
  expect(await looks(statOf(), '---\n', undefined)).toBe(false)
  const before = toBelieved(statOf(), bytesOf('one'))
  expect(await looks(statOf(), 'three', before)).toBe(false)
  const empty = toBelieved(statOf(), bytesOf(''))
  expect(await looks(statOf(), '---\nname', empty)).toBe(true)
})

test('an emptied file looks half-written, even if its previous text was never read', async () => {
  const stat = statOf({ mtimeMs: NOW - 1_000, ctimeMs: NOW - 1_000 })
  const before = toBelieved(statOf({ ctimeMs: NOW - 2_000 }), FORMER, NOW - 1_500)
  expect(await looks(stat, '', before)).toBe(true)
  expect(await looks(stat, '', noteDoubt(before, NOW - HALF_WRITTEN_MS))).toBe(false)
  expect(await looks({ ...stat, ino: 2 }, '', before)).toBe(false)
})

test('the age of a text is measured right before the text is read, even if the process is suspended afterwards', async () => {
  const read = async (stat: FileStat): Promise<boolean> =>
    await looksHalfWritten({
      stat,
      bytes: bytesOf('first line\n'),
      before: BEFORE,
      readAt: NOW,
      now: NOW + 1_000,
      readBefore: async () => FORMER,
    })
  expect(await read(statOf())).toBe(true)
  expect(await read(statOf({ mtimeMs: NOW + 900, ctimeMs: NOW + 900 }))).toBe(true)
})

test('a text of any age looks half-written if its size changed but its times are unchanged', async () => {
  const stat = statOf({ mtimeMs: NOW - 1_000, ctimeMs: NOW - 1_000 })
  expect(await looks(stat, '', toBelieved(stat, FORMER, NOW - 900))).toBe(true)
  expect(await looks(stat, LONG, toBelieved(stat, FORMER, NOW - 900))).toBe(false)
  const doubted = noteDoubt(toBelieved(stat, FORMER, NOW - 900), NOW - HALF_WRITTEN_MS)
  expect(await looks(stat, '', noteDoubt(doubted, NOW))).toBe(false)
  // Two changes within one tick of the clock may have the same time.
  expect(await looks(stat, 'first line\n', toBelieved(stat, FORMER, NOW - 990))).toBe(false)
})
