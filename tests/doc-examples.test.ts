import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExampleRun } from './fixtures/run-examples.ts'

const PROCESSES = 2
const TIMEOUT_MS = 120_000

/** The code of one `@example` in a docstring. */
interface Example {
  /** File and line of the first line of the example. */
  readonly name: string
  readonly code: string
  /** False if the fence is marked `no-run`, because the example needs the network. */
  readonly runs: boolean
  /** The file into which the code is extracted. */
  readonly file: string
}

// The folders are inside the repository so that package names resolve. Adapters need the packages of `tests/sdks`.
const FOLDER = resolve('.tmp', `doc-examples-${process.pid}`)
const SDK_FOLDER = resolve('tests/sdks/.tmp', `doc-examples-${process.pid}`)
const hasSdks = existsSync('tests/sdks/node_modules')
const FENCE = /^ *\* @example\n *\* ```ts( no-run)?\n((?: *\*.*\n)*?) *\* ```$/gm

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/\.(test|test-d)\.ts$/.test(name))
    .map(name => join(folder, name))
    .sort()
}

function examplesOf(source: string): Example[] {
  const content = readFileSync(source, 'utf8')
  return [...content.matchAll(FENCE)].map(({ 1: mark, 2: lines = '', index }) => {
    const line = content.slice(0, index).split('\n').length + 2
    const needsSdk = mark !== undefined && source.includes('/adapters/')
    const file = join(
      needsSdk ? SDK_FOLDER : FOLDER,
      `${source.replace(/\.ts$/, '').replaceAll('/', '.')}.${line}.ts`,
    )
    return { name: `${source}:${line}`, code: lines.replace(/^ *\* ?/gm, ''), runs: mark === undefined, file }
  })
}

const packages = readdirSync('packages').filter(name => name !== 'dashboard')
const sources = packages.flatMap(name => listSources(join('packages', name, 'src')))
const examples = sources.flatMap(examplesOf)

/** Runs examples one after the other in one process. Returns the outcome of each example. */
async function runAll(files: readonly string[]): Promise<readonly ExampleRun[]> {
  const child = spawn(process.execPath, [resolve('tests/fixtures/run-examples.ts'), ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT_MS,
  })
  const ended = once(child, 'close')
  const lines = (await text(child.stdout)).split('\n')
  // The process ends by itself only if no example left a timer, a server or a child process behind.
  expect(await ended).toEqual([0, null])
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as ExampleRun)
}

describe('an example in a docstring', () => {
  let runs: ReadonlyMap<string, ExampleRun>

  beforeAll(async () => {
    for (const folder of [FOLDER, SDK_FOLDER]) mkdirSync(folder, { recursive: true })
    for (const { file, code } of examples) writeFileSync(file, code)
    const files = examples.filter(({ runs }) => runs).map(({ file }) => file)
    const shares = Array.from({ length: PROCESSES }, (_, share) =>
      files.filter((_file, index) => index % PROCESSES === share),
    )
    const results = (await Promise.all(shares.map(runAll))).flat()
    runs = new Map(results.map(run => [run.file, run]))
  }, TIMEOUT_MS)

  afterAll(() => {
    for (const folder of [FOLDER, SDK_FOLDER]) rmSync(folder, { recursive: true, force: true })
  })

  test.each(examples.filter(({ runs }) => runs))('runs and prints what it says: $name', ({ file, code }) => {
    const run = runs.get(file)
    expect(run?.error).toBe(undefined)
    expect(run?.stderr).toBe('')
    const promised = [...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, line]) => `${line}\n`)
    expect(run?.stdout).toBe(promised.join(''))
  })

  test('every example is in a code fence that this test finds', () => {
    const tags = sources.flatMap(source => readFileSync(source, 'utf8').match(/^ *\* @example\b/gm) ?? [])
    expect(examples.length).toBe(tags.length)
  })

  test.each([FOLDER, ...(hasSdks ? [SDK_FOLDER] : [])])(
    'every example compiles: %s',
    { timeout: TIMEOUT_MS },
    folder => {
      const config = join(folder, 'tsconfig.json')
      const compilerOptions = { incremental: false, tsBuildInfoFile: null, moduleDetection: 'force' }
      writeFileSync(
        config,
        JSON.stringify({
          extends: resolve('tsconfig.json'),
          compilerOptions,
          include: ['*.ts'],
          exclude: [],
          references: [],
        }),
      )
      const checked = spawnSync(resolve('node_modules/.bin/tsc'), ['--noEmit', '-p', config], {
        encoding: 'utf8',
      })
      expect(checked.stdout + checked.stderr).toBe('')
      expect(checked.status).toBe(0)
    },
  )
})

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

/** Entry points that need no examples, because they are internal. */
const WITHOUT_EXAMPLES = /^\.\/internal(\/node)?$/
/** Exported values that a user does not call, with the reason why they have no example. */
const EXCEPTIONS: Readonly<Record<string, string>> = {}

/** The file that declares an exported value. */
interface ExportedValue {
  readonly name: string
  readonly file: string
}

function valuesOf(entry: string): ExportedValue[] {
  const content = readFileSync(entry, 'utf8')
  const listed = [...content.matchAll(/^export \{([^}]*)\} from '(\.[^']+)'/gm)].flatMap(
    ([, names = '', path = '']) =>
      names
        .split(',')
        .map(name => name.trim())
        .filter(name => name !== '' && !name.startsWith('type '))
        .map(name => ({ name, file: join(dirname(entry), path) })),
  )
  const declared = [...content.matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)].map(
    ([, name = '']) => ({ name, file: entry }),
  )
  return [...listed, ...declared]
}

function hasExample({ name, file }: ExportedValue): boolean {
  const content = readFileSync(file, 'utf8')
  const docs = content.matchAll(
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:abstract |async )*(?:function\*?|class|const) (\w+)/g,
  )
  return [...docs].some(([, doc = '', declared]) => declared === name && doc.includes('@example'))
}

describe('an exported value', () => {
  const values = packages.flatMap(folder => {
    const { exports } = JSON.parse(readFileSync(join('packages', folder, 'package.json'), 'utf8')) as Manifest
    return Object.entries(exports).flatMap(([door, target]) =>
      typeof target === 'string' || WITHOUT_EXAMPLES.test(door)
        ? []
        : valuesOf(join('packages', folder, target.types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))),
    )
  })

  test('every exported value has an example, except constants and the values that this test lists', () => {
    const isConstant = (name: string): boolean => name === name.toUpperCase()
    const without = values.filter(value => !hasExample(value)).map(({ name }) => name)
    expect(values.length).toBeGreaterThan(90)
    expect(without.filter(name => !isConstant(name))).toEqual(Object.keys(EXCEPTIONS))
  })
})
