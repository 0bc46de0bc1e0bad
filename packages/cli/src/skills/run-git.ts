import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
// Git walks a large history for seconds. Callers then go on without its answer.
const LIMITS = { timeout: 2_000, maxBuffer: 16 * 1024 * 1024 }

/** Runs git so that the settings of the work tree start no program. */
export async function runGit(directory: string, ...words: readonly string[]): Promise<string> {
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  const settings = [
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
    'log.showRoot=true',
  ]
  const args = ['--no-pager', ...settings.flatMap(each => ['-c', each]), ...words]
  const options = { ...LIMITS, cwd: directory, env: Object.fromEntries(env) }
  return (await run('git', args, options)).stdout
}
