import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import { findPathFault, isSafeSegment, parseSkillPath } from './skill-path.ts'

describe('paths inside a skill', () => {
  test.each([
    'SKILL.md',
    'references/guide.md',
    'notes..md',
    '..data/SKILL.md',
    '%2e%2e/x',
    'a b/ü.md',
    '...x/y',
    '-x',
    'con-tact.md',
  ])('parseSkillPath() accepts %j', path => {
    expect(parseSkillPath(path)).toBe(path.normalize('NFC'))
  })

  test.each([
    ['', 'empty'],
    ['/etc/passwd', 'absolute'],
    ['../x', '".."'],
    ['a/../../x', '".."'],
    ['a/./b', '"."'],
    ['.', '"."'],
    ['a//b', 'empty segment'],
    ['a/', 'empty segment'],
    ['a\\b', 'backslash'],
    ['\\\\server\\share', 'backslash'],
    ['C:/x', 'colon'],
    ['a.txt:stream', 'colon'],
    ['file:///etc/passwd', 'colon'],
    ['a\0b', 'control'],
    ['a\nb', 'control'],
    ['a\u0085b', 'control'],
    ['x./y', 'dot or space'],
    ['x /y', 'dot or space'],
    ['NUL', 'reserved'],
    ['a/con.txt', 'reserved'],
    ['\ud800', 'surrogate'],
    ['ü'.repeat(128), '255 bytes'],
    [Array.from({ length: 33 }, () => 'a').join('/'), '33 segments'],
  ])('parseSkillPath() refuses %j because of %s', (path, reason) => {
    expect(() => parseSkillPath(path)).toThrow(reason)
    try {
      parseSkillPath(path)
    } catch (thrown) {
      expect(SkillError.isInstance(thrown, 'INVALID_PATH')).toBe(true)
    }
  })

  test('parseSkillPath() normalises composed and decomposed letters to one spelling', () => {
    expect(parseSkillPath('cafe\u0301.md')).toBe('caf\u00e9.md')
  })

  test('parseSkillPath() refuses every path that leads out of its base folder', () => {
    const segment = fc.oneof(
      fc.constantFrom('..', '.', '', 'a', '..a', 'a..', '\\', 'C:', '~', '%2e%2e'),
      fc.string(),
    )
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 6 }),
        fc.constantFrom('/', '\\', '//'),
        (segments, separator) => {
          const path = segments.join(separator)
          if (findPathFault(path) !== undefined) return
          const joined = posix.join('/root/skill', parseSkillPath(path))
          expect(joined.startsWith('/root/skill/')).toBe(true)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('path segments', () => {
  test('isSafeSegment() accepts a single segment, and refuses longer paths and ".."', () => {
    expect(isSafeSegment('pdf')).toBe(true)
    expect(isSafeSegment('a/b')).toBe(false)
    expect(isSafeSegment('..')).toBe(false)
  })
})
