import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { toPortable } from '../scripts/portable-command.ts'

afterEach(() => vi.unstubAllEnvs())

const programs = ['scripts/gate.ts', 'scripts/check.ts'].flatMap(file =>
  [...readFileSync(file, 'utf8').matchAll(/command: \['([^'/]+)'/g)].map(([, program = '']) => program),
)

test.each([...new Set(programs)].filter(program => !['node', 'npm'].includes(program)))(
  'the command %s starts without a shell and without the folder node_modules/.bin',
  program => {
    const [node, ...args] = toPortable([program, '--version'])
    expect([node, args[0]?.startsWith(resolve('node_modules'))]).toEqual([process.execPath, true])
    expect(spawnSync(node, args, { encoding: 'utf8', env: {} }).stdout).toMatch(/\d+\.\d+/)
  },
)

test('npm starts from its JavaScript file if npm started the process, and other programs stay unchanged', () => {
  vi.stubEnv('npm_execpath', '/npm/bin/npm-cli.js')
  expect(toPortable(['npm', 'ci'])).toEqual([process.execPath, '/npm/bin/npm-cli.js', 'ci'])
  vi.stubEnv('npm_execpath', '/yarn/bin/yarn.js')
  expect(toPortable(['npm', 'ci'])).toEqual(['npm', 'ci'])
  expect(toPortable(['node', 'a.ts'])).toEqual([process.execPath, 'a.ts'])
  expect(toPortable(['/opt/node', 'a.ts'])).toEqual(['/opt/node', 'a.ts'])
})

test('the gate starts more than five programs', () => {
  expect(new Set(programs).size).toBeGreaterThan(5)
})
