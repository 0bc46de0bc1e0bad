import { expect, test } from 'vitest'
import { findRepository, isGitName, isRepository } from './git-layout.ts'

test.each([
  ...['.git', '.GIT', '.Git', '.git.', '.git ', '.git . .', 'git~1', 'GIT~1', 'git~1.'],
  ...['.git::$INDEX_ALLOCATION', '.g\u200cit', '\ufeff.git', '.gi\u2060t\u200d', '.git\\config'],
])('isGitName() accepts %j, which some disk reads as ".git"', name => {
  expect(isGitName(name)).toBe(true)
})

test.each([
  'git',
  '.gitignore',
  '.gitmodules',
  '.github',
  '.git-credentials',
  'git~2',
  'x.git',
  '.gıt',
  'é.git',
])('isGitName() refuses %j', name => {
  expect(isGitName(name)).toBe(false)
})

const entries = (text: string): { name: string; kind: string }[] =>
  text.split(' ').map(word => ({
    name: word.replace('/', ''),
    kind: word.endsWith('/') ? 'directory' : 'file',
  }))

test.each([
  ['HEAD config objects/ refs/', true],
  ['HEAD objects/ refs/', true],
  ['head Objects/ REFS/', true],
  ['HEAD commondir config', true],
  ['HE\u200cAD objects/ refs/', true],
  ['HEAD config refs/', false],
  ['HEAD/ objects/ refs/', false],
  ['HEAD objects refs', false],
  ['header.md config objects/ refs/', false],
])('isRepository() for the entries %j is %j', (text, expected) => {
  expect(isRepository(entries(text))).toBe(expected)
})

test('findRepository() finds the HEAD of a repository among the files of a skill, whatever the case of its folders', () => {
  const files = ['SKILL.md', 'assets/repo/HEAD', 'assets/repo/config', 'Assets/repo/objects/aa/b']
  expect(findRepository(files)).toBeUndefined()
  expect(findRepository([...files, 'assets/REPO/refs/heads/main'])).toBe('assets/repo/HEAD')
  expect(findRepository(['HEAD', 'objects/a', 'refs/b'])).toBe('HEAD')
})
