import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { setPriority } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fetchNatsServers, findNatsServer } from './nats-server.ts'
import { toPortable } from './portable-command.ts'

// The complete check before a commit, in CI and before a release. Each step is a command that can also be run alone. First,
// the gate runs the steps that the tests depend on, and ends if one of these steps fails. While the tests run, the gate runs
// the tests on Node 22, and the remaining steps one at a time, with low priority.
//
// Outside CI, the gate leaves out the endurance tests (`npm run endurance`), and the steps whose files are the same as in the
// upstream branch: the matrix of agent SDKs, Node 22, the packed packages and the documentation site.

interface Step {
  readonly name: string
  readonly command: readonly string[]
  readonly directory?: string
  /** A folder that the step adds at the beginning of `PATH`. */
  readonly path?: string
}

const IS_CI = Boolean(process.env['CI'])
/** Files that changed since the upstream branch; `undefined` if there is no upstream branch. */
const CHANGED = IS_CI ? undefined : listChanged()
const MANIFESTS = ['package.json', 'package-lock.json']
const touches = (...beginnings: readonly string[]): boolean => hasAny(CHANGED, beginnings)

const RESULTS = '.tmp/test-results.json'
const OLD_NODE_RESULTS = '.tmp/old-node-results.json'
const ENDURANCE_RESULTS = '.tmp/endurance-results.json'
/** Folder with the oldest Node version that we support. `tests/runtimes` installs it. */
const OLD_NODE = join('tests/runtimes/node_modules', `node-22-${process.platform}-${process.arch}`, 'bin')
const packages = readdirSync('packages').map(name => join('packages', name))
const published = packages.filter(directory => !readManifest(directory).private)

const format: Step = { name: 'format and lint', command: ['biome', 'ci', '--error-on-warnings', '.'] }

/** The tests need the results of these steps. */
const builds: readonly Step[] = [
  { name: 'types', command: ['tsc', '-b'] },
  { name: 'build', command: ['node', 'scripts/bundle.ts'] },
  {
    name: 'build of the page',
    command: ['npm', 'run', '--silent', 'build', '--workspace', 'packages/dashboard'],
  },
]

const beside: readonly Step[] = [
  { name: 'types of the page', command: ['tsc', '-p', 'packages/dashboard'] },
  { name: 'lint with types', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'unused code and dependencies', command: ['knip'] },
  ...published.filter(hasNewPackage).flatMap((directory): Step[] => [
    { name: `package ${directory}`, command: ['publint', '--strict'], directory },
    {
      name: `package types ${directory}`,
      command: ['attw', '--pack', '.', '--profile', 'esm-only', '--no-emoji'],
      directory,
    },
  ]),
]

/** Checks the adapters against the types of the real SDKs. */
const sdkTypes: Step = { name: 'types of the agent SDKs', command: ['tsc', '-p', 'tests/sdks'] }

/** Builds the documentation site. Fails if a link in the site has no target. */
const site: Step = { name: 'documentation site', command: ['node', 'site/build.ts'] }

/** The rooms of the core whose text and tools reach a model through an adapter. */
const SESSION_ROOMS = ['activation', 'catalog', 'reader', 'session', 'tool'].map(
  room => `packages/core/src/${room}/`,
)

/** The example that `tests/sdks/nextjs.test.ts` builds. It is no workspace, so that `npm ci` does not install Next.js. */
const NEXT = 'examples/nextjs-chat'

/** The adapters, and the pages and the offline model that `tests/sdks/pages.test.ts` uses. */
const WITH_SDKS = [
  'packages/adapters',
  'packages/agent',
  'packages/cli/src/server',
  'docs/sdks',
  'tests/sdks',
]

/** Steps that the gate leaves out. */
const leftOut = {
  endurance: !IS_CI,
  sdks: !touches(...WITH_SDKS, ...SESSION_ROOMS, NEXT, ...MANIFESTS),
  'Node 22': !touches('packages/cli', 'packages/core', 'packages/scripts', 'tests/scripts', ...MANIFESTS),
  packed: !published.some(hasNewPackage),
  // The pages of the API are made from the declarations of the packages.
  site: !(touches('site', 'docs', 'README.md') || published.some(hasNewPackage)),
}

mkdirSync('.tmp', { recursive: true })
const folders = [
  ...['tests/runtimes', 'tests/sdks'],
  ...(leftOut.sdks ? [] : [NEXT]),
  ...(leftOut.site ? [] : ['site']),
]
const programs = listMissingPrograms()
const missing = [
  ...programs,
  ...(['newest', 'oldest'] as const).flatMap(each => (findNatsServer(each) ? [] : [`${each} nats-server`])),
  ...folders.filter(folder => !isInstalled(folder)).map(folder => `npm packages of ${folder}`),
]
console.log(missing.length === 0 ? 'installs nothing' : `installs ${missing.join(', ')}`)
for (const [what, isLeftOut] of Object.entries(leftOut)) if (isLeftOut) console.log(`leaves out: ${what}`)
installPrograms(programs)
fetchNatsServers()
const isFolderReady = new Map(folders.map(folder => [folder, installFolder(folder)]))
const hasSdks = isFolderReady.get('tests/sdks') === true
const hasSite = isFolderReady.get('site') !== false

const tests: Step = {
  name: 'tests and examples',
  command: [
    ...['vitest', 'run', '--project=unit', '--project=system'],
    ...(leftOut.sdks || !hasSdks ? [] : ['--project=sdks']),
    ...(leftOut.packed ? [] : ['--project=packed']),
    ...reportTo(RESULTS),
  ],
}

/** These tests run after all others, because they check what users see under a load of their own. */
const enduranceTests: Step = {
  name: 'endurance tests',
  command: ['vitest', 'run', '--project=endurance', '--maxWorkers=3', ...reportTo(ENDURANCE_RESULTS)],
}

/**
 * Parts of paths of tests that also run on the oldest Node. The tests depend on what differs there: SQLite, the permission
 * flags, types in scripts, processes, and functions that only a newer Node has.
 */
const OLD_NODE_TESTS: readonly string[] = [
  'packages/scripts',
  ...[
    'cli-run',
    'conformance',
    'escape-matrix',
    'grants',
    'misbehaving',
    'run-file',
    'sandbox',
    'superuser',
  ].map(name => `tests/scripts/${name}.`),
  ...['cli', 'state-faults'].map(name => `tests/${name}.`),
  ...['decision-store', 'revision-log', 'sqlite-store', 'store-collection'].map(name => `/${name}.`),
]

const oldNodeTests: Step = {
  name: 'scripts, the command line and the state directory on Node 22',
  path: OLD_NODE,
  command: [
    join(OLD_NODE, 'node'),
    'node_modules/vitest/vitest.mjs',
    'run',
    ...['--project=system', '--project=unit', '--maxWorkers=1'],
    ...OLD_NODE_TESTS,
    ...reportTo(OLD_NODE_RESULTS),
  ],
}

interface Counts {
  readonly passed: number
  readonly skipped: number
  /** What each failed test says, with its file and name. */
  readonly failures: readonly string[]
}

/** The part of Vitest's JSON report that the gate reads. */
interface TestReport {
  readonly numPassedTests?: number
  readonly numPendingTests?: number
  readonly numTodoTests?: number
  readonly testResults?: readonly TestFileReport[]
}

interface TestFileReport {
  readonly name: string
  readonly status: string
  readonly message?: string
  readonly assertionResults: readonly {
    readonly status: string
    readonly fullName: string
    readonly failureMessages: readonly string[]
  }[]
}

const ONE_SKIPPED: Counts = { passed: 0, skipped: 1, failures: [] }
/** Length of the longest message of a failed test in the summary. Longer ones are cut. */
const MAX_FAILURE_LENGTH = 1500

const LOW_PRIORITY = 10

const hasOldNode = existsSync(OLD_NODE)
const isReady = await Promise.all([run(format), runAll(builds)])
if (isReady.every(Boolean)) {
  const parts = [
    async () => await run(tests, { isShown: true }),
    async () => !hasOldNode || leftOut['Node 22'] || (await run(oldNodeTests)),
    async () =>
      await runAll(
        [
          ...beside,
          ...(hasSdks && !leftOut.sdks ? [sdkTypes] : []),
          ...(hasSite && !leftOut.site ? [site] : []),
        ],
        { isLowPriority: true },
      ),
  ]
  const areGreen: boolean[] = []
  // Tests wait for processes and servers, so in CI nothing else takes the processor away from them.
  if (IS_CI) for (const part of parts) areGreen.push(await part())
  else areGreen.push(...(await Promise.all(parts.map(async part => await part()))))
  const isEnduranceGreen = leftOut.endurance || (await run(enduranceTests, { isShown: true }))
  const counts = [
    countTests(RESULTS),
    ...(leftOut['Node 22'] ? [] : [hasOldNode ? countTests(OLD_NODE_RESULTS) : ONE_SKIPPED]),
    ...(leftOut.endurance ? [] : [countTests(ENDURANCE_RESULTS)]),
    ...(hasSdks ? [] : [ONE_SKIPPED]),
    ...(hasSite ? [] : [ONE_SKIPPED]),
  ]
  process.exitCode = report(areGreen.every(Boolean) && isEnduranceGreen, counts)
} else process.exitCode = 1

/** Lists the files that changed since the upstream branch, including new files. */
function listChanged(): readonly string[] | undefined {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\0')
      .filter(Boolean)
  try {
    return [
      ...git('diff', '--merge-base', '--name-only', '-z', '@{upstream}'),
      ...git('ls-files', '--others', '--exclude-standard', '-z'),
    ]
  } catch {
    return undefined // no git, or a branch without an upstream branch
  }
}

function hasAny(paths: readonly string[] | undefined, beginnings: readonly string[]): boolean {
  return paths === undefined || paths.some(path => beginnings.some(each => path.startsWith(each)))
}

/** Returns whether what npm would publish may differ from the upstream branch. */
function hasNewPackage(directory: string): boolean {
  const paths = CHANGED?.filter(path => !/\.test(?:-d)?\.ts$/.test(path))
  return hasAny(paths, [
    ...MANIFESTS,
    'scripts/bundle.ts',
    'scripts/published.ts',
    'tsconfig',
    `${directory}/`,
  ])
}

function reportTo(file: string): readonly string[] {
  return ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
}

interface RunOptions {
  /** Whether to print the output while the step runs. Otherwise the output is printed only if the step fails. @default false */
  readonly isShown?: boolean
  /** @default false */
  readonly isLowPriority?: boolean
}

/** Runs steps one after the other, until the first failure. */
async function runAll(steps: readonly Step[], options: RunOptions = {}): Promise<boolean> {
  for (const step of steps) if (!(await run(step, options))) return false
  return true
}

async function run(
  { name, command, directory = '.', path }: Step,
  options: RunOptions = {},
): Promise<boolean> {
  const { isShown = false, isLowPriority = false } = options
  const start = performance.now()
  const [program, ...args] = toPortable(command)
  const child = spawn(program, args, {
    cwd: directory,
    // Let Node cache compiled code, because the tests start hundreds of processes that load the same files.
    env: {
      NODE_COMPILE_CACHE: resolve('.tmp/compile-cache'),
      ...process.env,
      ...(path === undefined ? {} : { PATH: [resolve(path), process.env['PATH']].join(delimiter) }),
    },
    stdio: isShown ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  })
  if (isLowPriority && child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY)
  const exited = new Promise<number | string | null>(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('close', resolve)
  })
  const read = async (stream: typeof child.stdout): Promise<string> =>
    stream === null ? '' : await text(stream)
  const [stdout, stderr, code] = await Promise.all([read(child.stdout), read(child.stderr), exited])
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (code !== 0)
    console.log([stdout, stderr, typeof code === 'string' ? code : ''].filter(Boolean).join('\n'))
  return code === 0
}

function countTests(file: string): Counts {
  const results = JSON.parse(readFileSync(file, 'utf8')) as TestReport
  return {
    passed: results.numPassedTests ?? 0,
    skipped: (results.numPendingTests ?? 0) + (results.numTodoTests ?? 0),
    failures: (results.testResults ?? []).flatMap(listFailures),
  }
}

function listFailures({ name, status, message = '', assertionResults }: TestFileReport): readonly string[] {
  const tests = assertionResults.filter(test => test.status === 'failed')
  if (tests.length === 0) return status === 'failed' ? [describeFailure(name, message)] : []
  return tests.map(test => describeFailure(`${name} ${test.fullName}`, test.failureMessages.join('\n')))
}

function describeFailure(name: string, message: string): string {
  return `FAILED ${name}\n${message.slice(0, MAX_FAILURE_LENGTH)}`
}

/**
 * Prints the failures again, after the long output, and the summary. Returns the exit code. In CI a skipped test is a failure,
 * because CI has every program it needs.
 */
function report(isGreen: boolean, counts: readonly Counts[]): number {
  const sum = (key: 'passed' | 'skipped'): number => counts.reduce((total, each) => total + each[key], 0)
  const failures = counts.flatMap(each => each.failures)
  for (const failure of failures) console.log(failure)
  console.log(`${sum('passed')} passed, ${failures.length} failed, ${sum('skipped')} skipped`)
  const isIncomplete = IS_CI && sum('skipped') > 0
  return !isGreen || failures.length > 0 || sum('passed') === 0 || isIncomplete ? 1 : 0
}

function readManifest(directory: string): { readonly private?: boolean } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { private?: boolean }
}

/** Installs packages that only the gate needs. Returns false if the installation fails. In this case, the steps that need these packages are skipped, and the summary counts the skipped steps. */
function installFolder(folder: string): boolean {
  if (isInstalled(folder)) return true
  const [npm, ...args] = toPortable(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'])
  const { status } = spawnSync(npm, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) console.log(`could not install the packages of ${folder}; what needs them is skipped`)
  return status === 0
}

/** Returns whether the installed packages are at least as new as the lock file. npm writes this hidden file at the end of an installation. */
function isInstalled(folder: string): boolean {
  const toTime = (file: string): number =>
    statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return toTime('node_modules/.package-lock.json') >= toTime('package-lock.json')
}

/** Lists the packages of missing programs that the gate may install. Tests whose programs are missing are skipped, and the summary counts the skipped tests. */
function listMissingPrograms(): readonly string[] {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return []
  const isThere = (program: string): boolean =>
    (process.env['PATH'] ?? '').split(delimiter).some(folder => existsSync(join(folder, program)))
  const isHere = {
    chromium: Boolean(process.env['CHROMIUM']) || isThere('chromium'),
    bubblewrap: isThere('bwrap'),
    python3: existsSync('/usr/bin/python3'),
    procps: isThere('ps'),
    postgresql: existsSync('/usr/lib/postgresql'),
    'pre-commit': isThere('pre-commit'),
    tmux: isThere('tmux'),
  }
  return Object.entries(isHere).flatMap(([name, isInstalled]) => (isInstalled ? [] : [name]))
}

function installPrograms(programs: readonly string[]): void {
  if (programs.length === 0) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = ['install', '-y', '--no-install-recommends', ...programs]
  const run = (args: readonly string[]): number | null =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status
  if (run(install) !== 0 && run(['update']) === 0) run(install)
}
