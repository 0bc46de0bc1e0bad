import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readCode } from './fixtures/read-code.ts'

/** Lists the source files that users run. Leaves out tests and declarations. */
function listSources(): string[] {
  return readdirSync('packages').flatMap(name =>
    readdirSync(`packages/${name}/src`, { recursive: true, encoding: 'utf8' })
      .filter(path => /\.tsx?$/.test(path) && !/\.(test|test-d|d)\.tsx?$/.test(path))
      .map(path => `packages/${name}/src/${path}`),
  )
}

// Code that may exist in only one file. Two copies of this code would diverge, so all files must import the one file
// that defines it.
test.each<[what: string, file: string, pattern: RegExp]>([
  ['decodes UTF-8', 'packages/core/src/skill/text.ts', /new TextDecoder\b/],
  [
    'defines the longest delay of a timer',
    'packages/core/src/host.ts',
    /\b2 \*\* 31\b|2_?147_?483_?647|0x7fff_?ffff\b/i,
  ],
  ['checks whether a process exists', 'packages/core/src/disk/process-group.ts', /process\.kill\([^,]+, 0\)/],
  [
    'compares paths that have `/` as separator',
    'packages/core/src/is-inside.ts',
    /function isInside\(|=== (\w+) \|\| [\w.]+\.startsWith\(`\$\{\1\}\/`\)/,
  ],
  ['reads the result of `relative()`', 'packages/cli/src/config/real-path.ts', /`\.\.\$\{sep\}`/],
  [
    'defines the names of the tools',
    'packages/core/src/tool/tool-names.ts',
    /'(?:read_skill_file|run_skill_\w+|write_skill_file|reload_skills|skill_reload|skill_unload)'/,
  ],
])('only one file %s: %s', (_, file, pattern) => {
  const files = listSources()
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter(each => pattern.test(readCode(each)))).toEqual([file])
})

// These files write data, or run in the process of a script, which does not load the core.
const WRITES_JSON =
  /\/testing\/|\/child\/|\/(?:remote-contents|skill-text|mcp-source|listen-gaps|script-process)\.ts$/

test('messages show values with quote() or showValue(), which escape control characters, and not as JSON', () => {
  const files = listSources().filter(file => /^packages\/(?:core|mcp|compat|fleet|scripts)\//.test(file))
  const found = files.filter(file => /\$\{JSON\.stringify\(/.test(readCode(file)))
  expect(found.filter(file => !WRITES_JSON.test(file))).toEqual([])
})
