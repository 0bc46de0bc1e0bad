import { describe, expect, test } from 'vitest'
import { isInside } from '../internal-entry.ts'
import { describeHeld, toSlashes } from './disk-facts.ts'

test('a backslash is a path separator only on Windows', () => {
  expect(toSlashes('C:\\skills\\pdf', 'win32')).toBe('C:/skills/pdf')
  expect(toSlashes('/skills/a\\b', 'linux')).toBe('/skills/a\\b')
})

describe('isInside', () => {
  test.each([
    ['C:\\skills\\pdf', 'C:/skills', true],
    ['C:/skills/pdf', 'C:\\skills', true],
    ['C:\\skills', 'C:\\skills', true],
    ['C:\\skills', 'C:\\', true],
    ['C:\\skills-too', 'C:\\skills', false],
    ['D:\\skills', 'C:\\', false],
    ['D:\\skills', '/', true],
  ])('on Windows, isInside(%j, %j) returns %j', (path, folder, expected) => {
    expect(isInside(toSlashes(path, 'win32'), toSlashes(folder, 'win32'))).toBe(expected)
  })

  test.each([
    ['/skills/pdf', '/skills', true],
    ['/skills', '/', true],
    ['/skills-too', '/skills', false],
    ['/skills\\pdf', '/skills', false],
  ])('on other systems, isInside(%j, %j) returns %j', (path, folder, expected) => {
    expect(isInside(toSlashes(path, 'linux'), toSlashes(folder, 'linux'))).toBe(expected)
  })
})

test('only on Windows, the error of a refused move names open files as a possible reason', () => {
  const refused = Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })
  expect(describeHeld(refused, 'C:\\skills\\pdf', 'win32')).toMatchObject({
    code: 'IO_FAILED',
    message: expect.stringMatching(/^"C:\\\\skills\\\\pdf" cannot be moved.*stoke dev.*EPERM/),
  })
  expect(describeHeld(refused, '/skills/pdf', 'linux').message).toBe(
    '"/skills/pdf": EPERM: operation not permitted',
  )
  const missing = Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
  expect(describeHeld(missing, 'C:\\skills\\pdf', 'win32').code).toBe('NOT_FOUND')
})
