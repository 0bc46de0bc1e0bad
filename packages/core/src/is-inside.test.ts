import { expect, test } from 'vitest'
import { isInside, pathInside } from './is-inside.ts'

test.each([
  ['/skills/pdf', '/skills', true],
  ['/skills/pdf', '/skills/', true],
  ['/skills', '/skills', true],
  ['/skills-too', '/skills', false],
  ['/skills/..data', '/skills', true],
  ['/', '/skills', false],
  ['/skills', '/', true],
  ['D:/skills', '/', true],
  ['skills/pdf', 'skills', true],
])('isInside(%j, %j) returns %j', (path, folder, expected) => {
  expect(isInside(path, folder)).toBe(expected)
})

test('pathInside() returns the path relative to the folder, and nothing for the folder itself', () => {
  expect(pathInside('/skills', '/skills/pdf/SKILL.md')).toBe('pdf/SKILL.md')
  expect(pathInside('/', '/skills')).toBe('skills')
  expect(pathInside('/skills', '/skills')).toBeUndefined()
})
