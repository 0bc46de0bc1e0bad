import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TEST_PROJECTS, UNIT } from '../scripts/test-projects.ts'

const isForeign = (path: string): boolean => /(?:^|\/)(?:node_modules|dist)(?:\/|$)/.test(path)
/** Never enters the folders of other packages, because that takes seconds. */
const list = (patterns: readonly string[]): string[] =>
  globSync([...patterns], { exclude: isForeign }).filter(path => !isForeign(path))

function filesOf({ include, exclude = [] }: (typeof TEST_PROJECTS)[number]): string[] {
  const excluded = new Set(list(exclude))
  return list(include).filter(file => !excluded.has(file))
}

test('every test file belongs to exactly one project', () => {
  const all = list(['**/*.test.ts'])
  expect(all.length).toBeGreaterThan(100)
  expect(TEST_PROJECTS.flatMap(filesOf).sort()).toEqual(all.sort())
})

// Tests that start a process or a server, or need the build, are slow. Such tests are in files named `x.system.test.ts`.
const OUTSIDE = [
  /from 'node:(?:child_process|http|http2|https|net|tls|cluster)'/,
  /\bfixtures\/(?:browser|cli|crasher|decider|dev|fault-proxy|follow|git-|link-swapper|mcp-client|openai-server|open-page|scripts|sftp-server)/,
  /\bdist\//,
]

test('a unit test starts no process and no server, and needs no build', () => {
  const wrong = filesOf(UNIT).filter(file => {
    const text = readFileSync(file, 'utf8')
    return OUTSIDE.some(pattern => pattern.test(text))
  })
  expect(wrong).toEqual([])
})
