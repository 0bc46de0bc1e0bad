import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { toPortable } from './portable-command.ts'
import { printSize } from './size.ts'

// A quick check during development. This script checks the format of changed files, checks the types and runs the unit tests, all in parallel. For a complete check, run `npm test`.

interface Check {
  readonly name: string
  readonly command: readonly string[]
}

const changed = listChanged()
const checks: readonly Check[] = [
  ...(changed.length === 0
    ? []
    : [
        {
          name: `format of ${changed.length} changed files`,
          command: ['biome', 'check', '--error-on-warnings', '--no-errors-on-unmatched', ...changed],
        },
      ]),
  { name: 'types', command: ['tsc', '-b'] },
  { name: 'unit tests', command: ['vitest', 'run', '--project', 'unit', '--reporter=dot'] },
]

const results = await Promise.all(checks.map(run))
if (results.includes(false)) process.exitCode = 1
await printSize()

async function run({ name, command }: Check): Promise<boolean> {
  const start = performance.now()
  const [program, ...args] = toPortable(command)
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (code !== 0) console.log(stdout + stderr)
  return code === 0
}

/** Lists the files that differ from the last commit, including new files. */
function listChanged(): readonly string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { encoding: 'utf8' }).split('\0').filter(Boolean)
  return [
    ...git('diff', '--name-only', '-z', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ].filter(file => existsSync(file))
}
