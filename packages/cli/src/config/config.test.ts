import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UsageError } from '../terminal/exit-code.ts'
import { type ConfigFlags, resolveConfig } from './config.ts'

let folder: string
const before = process.cwd()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillstoke-config-'))
  process.chdir(folder)
})
afterEach(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

const write = (text: string, name = 'skillstoke.json'): void => writeFileSync(join(folder, name), text)

async function fault(text: string, flags: ConfigFlags = {}): Promise<string> {
  write(text)
  const thrown: unknown = await resolveConfig(flags, {}).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(UsageError)
  return (thrown as UsageError).message
}

describe('skillstoke.json', () => {
  test('sets all options of a project, including roots with labels and relative paths', async () => {
    write(`{
      "$schema": "./node_modules/skillstoke/skillstoke.schema.json",
      // comments and trailing commas are allowed
      "roots": ["./skills", { "path": "~/team", "label": "team" }],
      "linkRoots": ["shared"],
      "scope": { "include": ["support-*"], "exclude": ["support-old"] },
      "catalog": { "maxTokens": 500 },
      "server": { "port": 4000, "maxSessions": 500 },
    }`)
    const config = await resolveConfig({}, {})
    expect(config.roots).toEqual([
      { label: 'root-1', path: 'skills', isNamed: true, isLinkTarget: true },
      { label: 'team', path: join(homedir(), 'team'), isNamed: true, isLinkTarget: false },
    ])
    expect(config).toMatchObject({
      areRootsChosen: false,
      linkRoots: [join(folder, 'shared')],
      scope: { include: ['support-*'], exclude: ['support-old'] },
      catalog: { maxTokens: 500 },
      server: { port: 4000, isPortNamed: true, host: '127.0.0.1', maxSessions: 500 },
      file: join(folder, 'skillstoke.json'),
    })
  })

  test('is overridden by environment variables, and both are overridden by flags', async () => {
    write(
      '{"roots": ["of-file"], "server": {"port": 1, "maxSessions": 1}, "scope": {"include": ["of-file"]}}',
    )
    const environment = {
      SKILLSTOKE_ROOTS: 'of-environment:second',
      SKILLSTOKE_PORT: '2',
      SKILLSTOKE_MAX_SESSIONS: '2',
      SKILLSTOKE_STATE: '/state',
    }
    const paths = (roots: readonly { path: string }[]): string[] => roots.map(root => root.path)
    const of = async (flags: ConfigFlags, given: NodeJS.ProcessEnv): Promise<unknown> => {
      const { roots, server, areRootsChosen } = await resolveConfig(flags, given)
      return [paths(roots), server.port, server.maxSessions, areRootsChosen]
    }
    expect(await of({}, {})).toEqual([['of-file'], 1, 1, false])
    expect(await of({}, environment)).toEqual([['of-environment', 'second'], 2, 2, true])
    const flags = { root: ['of-flag'], port: 3, maxSessions: 3 }
    expect(await of(flags, environment)).toEqual([['of-flag'], 3, 3, true])
    expect((await resolveConfig({ include: ['of-flag'] }, {})).scope).toEqual({ include: ['of-flag'] })
    expect((await resolveConfig({}, environment)).stateDirectory).toBe('/state')
  })

  test('is not read if the user names another file, and the roots in that other file count as chosen by the user', async () => {
    write('{"roots": ["a"]}', 'other.json')
    expect(await resolveConfig({ config: 'other.json' }, {})).toMatchObject({
      roots: [{ path: 'a' }],
      areRootsChosen: true,
    })
    expect((await resolveConfig({}, { SKILLSTOKE_CONFIG: 'other.json' })).roots[0]?.path).toBe('a')
    await expect(resolveConfig({ config: 'missing.json' }, {})).rejects.toThrow(
      'the configuration file cannot be read',
    )
  })

  test('is optional', async () => {
    const config = await resolveConfig({}, {})
    expect(config).toMatchObject({
      areRootsChosen: false,
      linkRoots: [],
      server: { port: 4114, isPortNamed: false },
    })
    expect(config.file).toBeUndefined()
    expect(config.scope).toBeUndefined()
  })

  test.each([
    ['{\n  "rootz": []\n}', 'skillstoke.json:2:3: there is no field "rootz"; did you mean "roots"?'],
    ['{"server": {"prt": 1}}', 'there is no field "server.prt"; did you mean "server.port"?'],
    ['{"roots": 5}', 'skillstoke.json:1:11: "roots": '],
    ['{"roots": ["a", 5]}', 'skillstoke.json:1:17: "roots[1]": '],
    [
      '{\n "roots": [{"path": "a", "label": "a b"}]}',
      'skillstoke.json:2:35: "roots[0].label": a label has 1 to 64',
    ],
    ['{"server": {"port": 70000}}', 'skillstoke.json:1:21: "server.port": '],
    ['{"server": {"maxSessions": 0}}', 'skillstoke.json:1:28: "server.maxSessions": '],
    ['{"server": {"host": "0.0.0.0"}}', 'skillstoke.json:1:13: there is no field "server.host"'],
    ['{"catalog": {"maxTokens": 1.5}}', 'skillstoke.json:1:27: "catalog.maxTokens": '],
    ['{"linkRoots": ["../other"]}', 'skillstoke.json:1:16: "linkRoots[0]" is "../other", outside the folder'],
    ['{"linkRoots": ["/etc"]}', 'outside the folder'],
    ['{"roots": []}', 'skillstoke.json:1:11: "roots": '],
    [
      '{"roots": [{"path": "a", "label": "x"}, {"path": "b", "label": "x"}]}',
      'has the label "x", like "roots[0]"',
    ],
    ['[]', 'skillstoke.json:1:1: '],
    ['{"roots": [}', 'skillstoke.json:1:12: not valid JSON: value expected'],
    ['', 'skillstoke.json:1:1: not valid JSON'],
  ])('rejects the content %j, and names file, line, column and reason', async (text, message) => {
    expect(await fault(text)).toContain(message)
  })

  test('refuses a link root inside the project that is itself a link to a folder outside the project', async () => {
    mkdirSync(join(folder, 'inside'))
    symlinkSync(tmpdir(), join(folder, 'shared'))
    symlinkSync('inside', join(folder, 'fine'))
    symlinkSync('../not-there-yet', join(folder, 'dangling'))
    symlinkSync('circle', join(folder, 'circle'))
    expect(await fault('{"linkRoots": ["shared"]}')).toContain('outside the folder of this file')
    for (const name of ['shared/later', 'dangling', 'dangling/later', 'circle'])
      expect(await fault(JSON.stringify({ linkRoots: [name] })), name).toContain(
        'outside the folder of this file',
      )
    write('{"linkRoots": ["fine"], "roots": ["shared", "fine", "later", ".."]}')
    const { roots } = await resolveConfig({}, {})
    expect(roots.map(root => root.isLinkTarget)).toEqual([false, true, true, false])
  })

  test('one error reports all faults of the file', async () => {
    expect((await fault('{"roots": 5, "server": {"port": -1}, "x": 1}')).split('\n')).toHaveLength(3)
  })
})

describe('the environment', () => {
  test('an empty environment variable counts as unset', async () => {
    const names = [
      'ROOTS',
      'CONFIG',
      'STATE',
      'PORT',
      'MAX_SESSIONS',
      'HOST',
      'TOKEN',
      'MODEL',
      'BASE_URL',
      'API_KEY',
    ]
    const empty = Object.fromEntries(names.map(name => [`SKILLSTOKE_${name}`, '']))
    expect(await resolveConfig({}, empty)).toEqual(await resolveConfig({}, {}))
  })

  test.each([
    [{ SKILLSTOKE_PORT: 'x' }, 'SKILLSTOKE_PORT is "x"'],
    [{ SKILLSTOKE_PORT: '70000' }, 'a port is a number from 0 to 65535'],
    [{ SKILLSTOKE_MAX_SESSIONS: '0' }, 'SKILLSTOKE_MAX_SESSIONS is "0"; use a whole number above 0'],
    [{ SKILLSTOKE_TOKEN: 'short' }, 'SKILLSTOKE_TOKEN has 5 characters; use at least 16'],
    [{ SKILLSTOKE_TOKEN: 'with a space in the middle' }, 'characters that are not allowed in a header'],
  ])('%j is rejected', async (environment, message) => {
    await expect(resolveConfig({}, environment)).rejects.toThrow(message)
  })
})
