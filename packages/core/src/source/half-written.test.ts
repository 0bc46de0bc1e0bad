import { expect, test } from 'vitest'
import type { FileStat } from '../fs/file-system.ts'
import { HALF_WRITTEN_MS, looksHalfWritten, toBelieved } from './half-written.ts'

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
const BEFORE = toBelieved(statOf(), bytesOf('first line\nsecond line\n'))

test.each([
  ['shorter in place', 'first line\n', {}, true],
  ['empty in place', '', {}, true],
  ['longer, and ends in the middle of a line', 'first line\nsecond line\nthird', {}, true],
  ['longer, and ends with a line', 'first line\nsecond line\nthird line\n', {}, false],
  ['of the same length in place', 'FIRST line\nSECOND line\n', {}, false],
  ['shorter in another file', 'first line\n', { ino: 2 }, false],
  ['in another file, and ends in the middle of a line', 'first', { ino: 2 }, true],
  ['shorter, and moved into its place', 'first', { ino: 2, ctimeMs: NOW - 5 }, false],
  [
    'shorter, and left alone for a while',
    'first',
    { mtimeMs: NOW - HALF_WRITTEN_MS, ctimeMs: NOW - HALF_WRITTEN_MS },
    false,
  ],
  [
    'shorter, with a time that has not come yet',
    'first',
    { mtimeMs: NOW + 60_000, ctimeMs: NOW + 60_000 },
    false,
  ],
] as const)('a text that is %s: half-written is %4$s', (_, text, facts, expected) => {
  expect(looksHalfWritten(statOf(facts), bytesOf(text), BEFORE, NOW)).toBe(expected)
})

test('a new text is doubted when it ends in the middle of a line, and one that never had a last line feed is not', () => {
  expect(looksHalfWritten(statOf(), bytesOf('---\nname'), undefined, NOW)).toBe(true)
  expect(looksHalfWritten(statOf(), bytesOf('---\n'), undefined, NOW)).toBe(false)
  const before = toBelieved(statOf(), bytesOf('one'))
  expect(looksHalfWritten(statOf(), bytesOf('three'), before, NOW)).toBe(false)
})
