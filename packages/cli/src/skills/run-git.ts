import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { toMessage } from '@skillstoke/core/internal'

const run = promisify(execFile)
// Git walks a large history for seconds. Callers then go on without its answer.
const TIMEOUT_MS = 2_000
const MAX_BUFFER = 16 * 1024 * 1024
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'log.showSignature=false',
  'log.showRoot=true',
]
// A partial clone would fetch what is missing, with the programs that its settings name.
const WITHOUT_NETWORK = { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1' }

/** Runs git so that the settings of the work tree start no program. */
export async function runGit(
  directory: string,
  words: readonly string[],
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): Promise<string> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  const args = ['--no-pager', ...SETTINGS.flatMap(each => ['-c', each]), ...words]
  const env = { ...Object.fromEntries(own), ...WITHOUT_NETWORK }
  return (await run('git', args, { timeout: timeoutMs, maxBuffer: MAX_BUFFER, cwd: directory, env })).stdout
}

/** Returns in one line why a run of git failed. */
export function toGitFault(thrown: unknown): string {
  const { killed, stderr = '' } = thrown as { readonly killed?: boolean; readonly stderr?: string }
  const [line = ''] = stderr.split('\n')
  return killed === true ? 'git took too long' : line || toMessage(thrown)
}
