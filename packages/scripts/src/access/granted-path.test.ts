import { expect, test } from 'vitest'
import { isInsideFolder } from './granted-path.ts'

test.each([
  ['/work/docs', '/work', true],
  ['/work/docs', '/work/', true],
  ['/work', '/work', true],
  ['/work', '/', true],
  ['/work-too', '/work', false],
  ['/work/../etc', '/work', false],
  ['/work/..data', '/work', true],
  ['/', '/work', false],
])('isInsideFolder(%j, %j) returns %j', (path, folder, expected) => {
  expect(isInsideFolder(path, folder)).toBe(expected)
})
