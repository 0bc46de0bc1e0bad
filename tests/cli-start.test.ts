import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { BIN, stokeProcess } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const HOOK = pathToFileURL(resolve('tests/fixtures/list-modules.ts')).href

/** Returns the modules that a verb loads, as paths below this folder or names of Node modules. */
function modulesOf(args: readonly string[]): readonly string[] {
  const run = spawnSync(process.execPath, ['--import', HOOK, BIN, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  })
  expect(run.status).toBe(0)
  const here = pathToFileURL(resolve('.')).href
  return (run.output[3] ?? '').split('\n').map(url => url.replace(here, ''))
}

const COMMAND_LINE = /^(node:|\/packages\/cli\/(bin|dist|node_modules\/commander)\/|$)/

describe('while stoke starts', () => {
  test.each([[['--version']], [['--help']], [['run', '--help']]])(
    'the command line loads only its own modules for %j',
    args => {
      const modules = modulesOf(args)
      expect(modules).toContain('/packages/cli/dist/main.js')
      expect(modules.filter(each => !COMMAND_LINE.test(each))).toEqual([])
    },
  )

  test.each([
    ['an installed package', 'node_modules/skillstoke', 'Install the package "skillstoke" again.'],
    ['a clone without a build', 'packages/cli', 'Run "npm ci" and "npm run build" first.'],
  ])('if a module is missing in %s, stoke gives fitting advice', (_, place, advice) => {
    using folder = new TemporaryFolder()
    folder.write(`${place}/package.json`, '{ "type": "module" }')
    const bin = folder.write(`${place}/bin/stoke.js`, readFileSync(BIN, 'utf8'))
    const { status, stderr } = spawnSync(process.execPath, [bin, 'list'], { encoding: 'utf8' })
    expect([status, stderr.trim().split('\n').length]).toEqual([2, 2])
    expect(stderr).toContain('dist/main.js')
    expect(stderr).toContain(advice)
  })

  test('stoke list loads only the modules of the core that it needs', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const modules = modulesOf(['list', '--root', folder.at('skills'), '--state', folder.at('state')])
    expect(modules).toContain('/packages/core/dist/index.js')
    const needless =
      /^node:https?$|^\/packages\/(scripts|mcp|agent)\/|\/o200k\.js$|\/node_modules\/(zod|hono|diff|jsonc-parser)\//
    expect(modules.filter(each => needless.test(each))).toEqual([])
  })
})

test('stoke mcp loads no MCP client for a local folder, and no token vocabulary for a short catalog', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  const modules = modulesOf(['mcp', '--root', folder.at('skills'), '--state', folder.at('state')])
  expect(modules.filter(each => each.includes('/@modelcontextprotocol/server/'))).not.toEqual([])
  const needless = /\/o200k\.js$|\/node_modules\/@modelcontextprotocol\/client\//
  expect(modules.filter(each => needless.test(each))).toEqual([])
})

describe('the compile cache', () => {
  const entriesOf = (folder: TemporaryFolder): readonly string[] => {
    const code = folder.at('state/code')
    return existsSync(code) ? readdirSync(code, { recursive: true }).map(String) : []
  }

  test('the second command writes the compile cache to the state directory, and stoke gc removes the cache', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const run = (verb: string, env: NodeJS.ProcessEnv = {}): void => {
      const flags = verb === 'list' ? ['--root', folder.at('skills')] : []
      const { status } = stokeProcess([verb, ...flags, '--state', folder.at('state')], {
        cwd: folder.path,
        // Ignore a compile cache that the environment of the developer may name.
        env: { NODE_COMPILE_CACHE: undefined, ...env },
      })
      expect(status).toBe(0)
    }
    run('list')
    expect(entriesOf(folder)).toEqual([])
    run('list', { NODE_DISABLE_COMPILE_CACHE: '1' })
    run('list', { NODE_COMPILE_CACHE: folder.at('elsewhere') })
    expect(entriesOf(folder)).toEqual([])
    run('list')
    const kept = entriesOf(folder)
    expect(kept.length).toBeGreaterThan(10)
    expect(readdirSync(folder.path).sort()).toEqual(['elsewhere', 'skills', 'state'])
    run('gc')
    expect(entriesOf(folder).filter(each => kept.includes(each)).length).toBeLessThan(kept.length)
  })

  /** Creates a folder with one skill, and a state directory that already records the skill. */
  const prepare = (folder: TemporaryFolder): readonly string[] => {
    const args = ['list', '--root', folder.at('skills'), '--state', folder.at('state')]
    folder.writeSkill('skills/pdf')
    expect(stokeProcess(args, { env: { NODE_COMPILE_CACHE: undefined } }).status).toBe(0)
    return args
  }

  test('the compile cache is ignored if other users may write to its folder', () => {
    using folder = new TemporaryFolder()
    const args = prepare(folder)
    folder.write('state/code/file', '')
    chmodSync(folder.at('state/code'), 0o777)
    const { status } = stokeProcess(args, { env: { NODE_COMPILE_CACHE: undefined } })
    expect([status, entriesOf(folder)]).toEqual([0, ['file']])
  })

  test('when a Node version writes to the compile cache for the first time, the cached code of other Node versions is removed', () => {
    using folder = new TemporaryFolder()
    const args = prepare(folder)
    const run = (): readonly string[] => {
      expect(stokeProcess(args, { env: { NODE_COMPILE_CACHE: undefined } }).status).toBe(0)
      return readdirSync(folder.at('state/code'))
    }
    folder.write('state/code/v20.0.0-x64-1234-0/module', '')
    const [own = '', ...others] = run()
    expect([own, others]).toEqual([expect.stringMatching(`^${process.version}-`), []])
    folder.write('state/code/v20.0.0-x64-1234-0/module', '')
    expect(run()).toHaveLength(2)
    rmSync(folder.at(`state/code/${own}`), { recursive: true })
    folder.write(`state/code/${process.version}-other-flags/module`, '')
    expect(run().toSorted()).toEqual([own, `${process.version}-other-flags`].toSorted())
  })

  test.each(['gc', 'reload', 'verify'])(
    'stoke %s writes nothing into a folder that is not a state directory',
    verb => {
      using folder = new TemporaryFolder()
      folder.writeSkill('skills/pdf')
      const { status } = stokeProcess([verb, '--state', folder.at('skills')], {
        cwd: folder.path,
        env: { NODE_COMPILE_CACHE: undefined },
      })
      expect([status, readdirSync(folder.at('skills'))]).toEqual([2, ['pdf']])
    },
  )
})
