import { expect, test } from 'vitest'
import { type FileStat, isSameStat } from './file-system.ts'

const FACTS: FileStat = {
  kind: 'file',
  size: 1,
  mtimeMs: 1,
  ctimeMs: 1,
  birthtimeMs: 1,
  ino: 7,
  dev: 3,
  links: 1,
  isExecutable: false,
}

test('isSameStat() recognises a file even if the system reports the device only for opened files', () => {
  expect(isSameStat(FACTS, { ...FACTS, dev: 0 })).toBe(true)
  expect(isSameStat({ ...FACTS, dev: 0 }, FACTS)).toBe(true)
  expect(isSameStat(FACTS, { ...FACTS, dev: 4 })).toBe(false)
  expect(isSameStat(FACTS, { ...FACTS, dev: 0, ino: 8 })).toBe(false)
})
