import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The one gate for people, CI and releases. Each step is a command that can be run alone; the first failure ends it.

interface Step {
  readonly name: string
  readonly command: readonly string[]
  readonly directory?: string
}

const RESULTS = '.tmp/test-results.json'
const packages = readdirSync('packages').map(name => join('packages', name))
const published = packages.filter(directory => !readManifest(directory).private)

const steps: readonly Step[] = [
  { name: 'format and lint', command: ['biome', 'ci', '--error-on-warnings', '.'] },
  { name: 'build and types', command: ['tsc', '-b'] },
  { name: 'types of the page', command: ['tsc', '-p', 'packages/dashboard'] },
  {
    name: 'build of the page',
    command: ['npm', 'run', '--silent', 'build', '--workspace', 'packages/dashboard'],
  },
  { name: 'lint with types', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'unused code and dependencies', command: ['knip'] },
  ...published.flatMap((directory): Step[] => [
    { name: `package ${directory}`, command: ['publint', '--strict'], directory },
    {
      name: `package types ${directory}`,
      command: ['attw', '--pack', '.', '--profile', 'esm-only', '--no-emoji'],
      directory,
    },
  ]),
  {
    name: 'tests and examples',
    command: ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${RESULTS}`],
  },
]

mkdirSync('.tmp', { recursive: true })
installPrograms()
for (const { name, command, directory } of steps) {
  const start = performance.now()
  const [program, ...args] = command
  const isTests = name === 'tests and examples'
  const run = spawnSync(program ?? '', args, {
    cwd: directory ?? '.',
    stdio: isTests ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${run.status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (isTests) process.exitCode = report(run.status ?? 1)
  if (run.status === 0) continue
  if (!isTests) console.log([run.stdout, run.stderr, run.error?.message].filter(Boolean).join('\n'))
  process.exitCode = 1
  break
}

/** Prints the closing line; in CI a skipped test counts as a failure, because everything it needs can be had there. */
function report(status: number): number {
  const results = JSON.parse(readFileSync(RESULTS, 'utf8')) as Record<string, number>
  const passed = results['numPassedTests'] ?? 0
  const failed = results['numFailedTests'] ?? 0
  const skipped = (results['numPendingTests'] ?? 0) + (results['numTodoTests'] ?? 0)
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  const isIncomplete = Boolean(process.env['CI']) && skipped > 0
  return status !== 0 || failed > 0 || passed === 0 || isIncomplete ? 1 : 0
}

function readManifest(directory: string): { readonly private?: boolean } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { private?: boolean }
}

/** What the tests need besides Node: where it is missing and may be installed, it is; elsewhere they are skipped and counted. */
function installPrograms(): void {
  const isThere = (program: string): boolean =>
    (process.env['PATH'] ?? '').split(':').some(folder => existsSync(join(folder, program)))
  const wanted = [
    { name: 'chromium', for: 'the page', isHere: Boolean(process.env['CHROMIUM']) || isThere('chromium') },
    { name: 'bubblewrap', for: 'the sandbox of scripts', isHere: isThere('bwrap') },
    { name: 'python3', for: 'scripts in Python', isHere: existsSync('/usr/bin/python3') },
    { name: 'procps', for: 'counting processes', isHere: isThere('ps') },
  ].filter(({ isHere }) => !isHere)
  if (wanted.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  for (const { name, for: purpose } of wanted) console.log(`installing ${name} for the tests of ${purpose}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = ['install', '-y', '--no-install-recommends', ...wanted.map(({ name }) => name)]
  const run = (args: readonly string[]): number | null =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status
  if (run(install) !== 0 && run(['update']) === 0) run(install)
}
