import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

// Tests the packages as a user installs them, in a folder outside this repository.

const PACKAGES = [
  'core',
  'adapters',
  'sources',
  'scripts',
  'compat',
  'agent',
  'author',
  'mcp',
  'fleet',
  'cli',
]
const RUNTIMES = resolve('tests/runtimes/node_modules')
const PROGRAMS = resolve('tests/fixtures/packed')
const ARCH = process.arch
const BUN_ARCH = ARCH === 'arm64' ? 'aarch64' : ARCH

// Compilers and installations are slow while other tests run.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let folder: TemporaryFolder

beforeAll(() => {
  folder = new TemporaryFolder()
  mkdirSync(folder.at('packed'))
  install(folder.at('everything'), PACKAGES)
  for (const name of readdirSync(PROGRAMS)) copyFileSync(join(PROGRAMS, name), folder.at('everything', name))
})

afterAll(() => folder[Symbol.dispose]())

/** Packs packages and installs them into a new folder. */
function install(place: string, names: readonly string[]): void {
  const dependencies = names.map(name => {
    const directory = resolve('packages', name)
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder.at('packed')]
    const [packed] = JSON.parse(npm(args, directory)) as [{ name: string; filename: string }]
    return [packed.name, `file:${folder.at('packed', packed.filename)}`]
  })
  mkdirSync(place)
  const devDependencies = { '@types/node': '^24.0.0' }
  const manifest = { name: 'stranger', version: '1.0.0', private: true, type: 'module', devDependencies }
  writeFileSync(
    join(place, 'package.json'),
    JSON.stringify({ ...manifest, dependencies: Object.fromEntries(dependencies) }),
  )
  npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], place)
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

interface Installed {
  readonly packages: number
  readonly megabytes: number
}

/** Returns the number and total size of the installed packages, including our own packages. */
function measure(place: string): Installed {
  const lock = JSON.parse(readFileSync(join(place, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  const sizes = readdirSync(join(place, 'node_modules'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !/@types|undici-types/.test(entry.parentPath))
    .map(entry => readFileSync(join(entry.parentPath, entry.name)).length)
  const isTypes = (path: string): boolean => /@types|undici-types/.test(path)
  return {
    packages: Object.keys(lock.packages).filter(path => !isTypes(path)).length,
    megabytes: sizes.reduce((sum, size) => sum + size, 0) / 1_000_000,
  }
}

interface Runtime {
  readonly name: string
  readonly program: string
  readonly args?: readonly string[]
}

const runtimes: readonly Runtime[] = [
  { name: 'Node 22', program: join(RUNTIMES, `node-22-linux-${ARCH}/bin/node`) },
  { name: 'Node 24', program: process.execPath },
  { name: 'Node 26', program: join(RUNTIMES, `node-26-linux-${ARCH}/bin/node`) },
  { name: 'Bun', program: join(RUNTIMES, `@oven/bun-linux-${BUN_ARCH}/bin/bun`) },
  { name: 'Deno', program: join(RUNTIMES, `@deno/linux-${ARCH}-glibc/deno`), args: ['run', '-A'] },
]

describe.each(runtimes)('$name', ({ program, args = [] }) => {
  test.skipIf(!existsSync(program))(
    'follows a save, keeps the last good revision, and serves an agent and MCP clients',
    () => {
      const run = spawnSync(program, [...args, 'smoke.mjs'], {
        cwd: folder.at('everything'),
        encoding: 'utf8',
        timeout: 120_000,
      })
      expect([run.status, run.stderr.replace(/^.*(?:ExperimentalWarning|trace-warnings).*\n/gm, '')]).toEqual(
        [0, ''],
      )
      expect(JSON.parse(run.stdout)).toEqual({
        memory: 'Second.',
        saved: 'Second.',
        lastGood: 'Second.',
        missed: 0,
        // The two revisions before the broken file, and 20 edits.
        history: 22,
        agent: true,
        mcp: true,
        faults: [],
      })
    },
  )
})

const TOO_OLD_NODE = join(RUNTIMES, `node-18-linux-${ARCH}/bin/node`)

describe.skipIf(!existsSync(TOO_OLD_NODE))('on Node 18', () => {
  test('all packages can be imported, and the first call reports the needed version', () => {
    const { stdout, stderr } = spawnSync(TOO_OLD_NODE, ['old-node.mjs'], {
      cwd: folder.at('everything'),
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    const refusal =
      'UNSUPPORTED_RUNTIME: Skillstoke needs Node 22.16 or newer, Bun or Deno; this is Node 18.20.8'
    expect(JSON.parse(stdout)).toEqual({
      isImported: true,
      openState: refusal,
      openWriteLock: refusal,
      createSkillRuntime: refusal,
    })
  })

  test('the command line reports the needed version in one line', () => {
    expect(runCommand({ program: TOO_OLD_NODE }, 'list')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'skillstoke needs Node 22.16 or newer; this is v18.20.8. Install it from https://nodejs.org\n',
    })
  })
})

const THIS_NODE = { program: process.execPath }

/** Runs the installed command line with its own home directory. */
function runCommand(
  { program, args = [] }: Omit<Runtime, 'name'>,
  ...words: readonly string[]
): SpawnSyncReturns<string> {
  const bin = folder.at('everything/node_modules/skillstoke/bin/stoke.js')
  return spawnSync(program, [...args, bin, ...words], {
    cwd: folder.at('everything'),
    encoding: 'utf8',
    env: { ...process.env, HOME: folder.at('home'), XDG_STATE_HOME: folder.at('home/state'), NO_COLOR: '1' },
  })
}

test('the installed command line lists, shows and validates skills', () => {
  folder.writeSkill('everything/skills/refund', { body: 'Within 30 days.' })
  expect(runCommand(THIS_NODE, 'list').stdout).toMatch(/^ok +refund /m)
  expect(runCommand(THIS_NODE, 'show', 'refund').stdout).toContain('Within 30 days.')
  expect(runCommand(THIS_NODE, 'validate', 'skills/refund').status).toBe(0)
  const { skills } = JSON.parse(runCommand(THIS_NODE, 'list', '--json').stdout) as {
    skills: unknown[]
  }
  expect(skills).toHaveLength(1)
})

describe.each(runtimes)('the installed command line on $name', runtime => {
  const isNode = runtime.name.startsWith('Node')

  test.skipIf(!existsSync(runtime.program))(
    'lists and shows skills, and runs a script if the runtime is Node',
    () => {
      folder.writeSkill('everything/skills/greet', { body: 'Say hello.' })
      folder.write(
        'everything/skills/greet/scripts/hello.ts',
        `import { defineCommand } from 'skillstoke/command'
export const hello = defineCommand({ name: 'hello', description: 'Says hello.', run: (): string => 'Hello.' })`,
      )
      const run = (...words: readonly string[]): SpawnSyncReturns<string> => runCommand(runtime, ...words)
      expect(run('list')).toMatchObject({ stderr: '', stdout: expect.stringMatching(/^ok +greet /m) })
      expect(run('show', 'greet').stdout).toContain('Say hello.')
      const status = run('status')
      expect([status.status, status.stdout]).toEqual([
        0,
        expect.stringMatching(
          isNode ? /^scripts are contained by /m : /^scripts do not run: scripts of skills need Node/m,
        ),
      ])
      const called = run('run', 'greet.hello')
      expect([called.status, called.stdout]).toEqual(isNode ? [0, 'Hello.\n'] : [2, ''])
      if (!isNode)
        expect(called.stderr).toMatch(
          /^error: scripts of skills need Node 22\.16 or newer; this is (?:Bun|Deno) /,
        )
    },
  )
})

interface Compilation {
  readonly compiler: string
  readonly program: string
  readonly module: string
  readonly resolution: string
  readonly file: string
  /** The type packages to load. If this list is absent, no types of a JavaScript runtime are available. */
  readonly types?: string
}

const compilers: readonly Compilation[] = [
  { compiler: 'TypeScript 7', program: resolve('node_modules/.bin/tsc') },
  { compiler: 'TypeScript 5.9', program: join(RUNTIMES, '.bin/tsc') },
].flatMap(compiler =>
  [
    { module: 'nodenext', resolution: 'nodenext', file: 'consumer.ts', types: 'node' },
    { module: 'preserve', resolution: 'bundler', file: 'consumer.ts', types: 'node' },
    { module: 'preserve', resolution: 'bundler', file: 'neutral.ts' },
  ].map(setting => ({ ...compiler, ...setting })),
)

test.skipIf(!existsSync(join(RUNTIMES, '.bin/tsc'))).each(compilers)(
  '$compiler with $resolution compiles $file',
  ({ program, module, resolution, file, types }) => {
    const compilerOptions = {
      ...{ module, moduleResolution: resolution, target: 'es2022', strict: true },
      ...{ noEmit: true, skipLibCheck: false, types: types === undefined ? [] : [types] },
    }
    writeFileSync(folder.at('everything/tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    const run = spawnSync(program, ['-p', '.'], { cwd: folder.at('everything'), encoding: 'utf8' })
    // Ignores type errors inside other packages, whose own dependencies may not be installed here.
    const isOurs = /^(?:consumer|neutral|error|node_modules\/(?:@skillstoke|skillstoke)\/)/
    expect(run.stdout.split('\n').filter(line => isOurs.test(line))).toEqual([])
    // A compiler that is killed or cannot start fails without reporting a type error.
    const hasEnded = run.status === 0 || /: error TS\d/.test(run.stdout)
    expect({ hasEnded, signal: run.signal, stderr: run.stderr }).toEqual({
      hasEnded: true,
      signal: null,
      stderr: '',
    })
  },
)

test('an installation of all packages contains the token vocabulary only once', () => {
  expect(measure(folder.at('everything')).megabytes).toBeLessThanOrEqual(80)
  expect(existsSync(folder.at('everything/node_modules/gpt-tokenizer'))).toBe(false)
  const { stdout } = runCommand(THIS_NODE, 'render', '--json')
  expect((JSON.parse(stdout) as { tokens: number }).tokens).toBeGreaterThan(0)
})

test('the core alone installs at most 5 packages', () => {
  install(folder.at('core'), ['core'])
  const { packages, megabytes } = measure(folder.at('core'))
  expect(packages).toBeLessThanOrEqual(5)
  expect(megabytes).toBeLessThanOrEqual(10)
})

interface Sbom {
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly licenses?: readonly {
      readonly license?: { readonly id?: string }
      readonly expression?: string
    }[]
  }[]
}

test('the SBOM lists every installed package, and each has a permissive licence', () => {
  const { components } = JSON.parse(
    npm(['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], folder.at('everything')),
  ) as Sbom
  expect(components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['@skillstoke/core', 'skillstoke', '@modelcontextprotocol/server', 'ai', 'hono']),
  )
  const permissive =
    /^(?:MIT|ISC|BSD-[23]-Clause|Apache-2\.0|0BSD|BlueOak-1\.0\.0|Unlicense|CC0-1\.0|PSF-2\.0|Python-2\.0)$/
  const others = components
    .map(({ name, licenses = [] }) => ({
      name,
      licence: licenses.map(({ license, expression }) => license?.id ?? expression ?? '').join(' '),
    }))
    // If an expression offers several licences, one permissive licence is enough.
    .filter(
      ({ licence }) =>
        !licence
          .replace(/[()]/g, '')
          .split(' OR ')
          .some(each => permissive.test(each)),
    )
  expect(others).toEqual([])
})
