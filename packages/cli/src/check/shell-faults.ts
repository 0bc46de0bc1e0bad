import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CheckedFile } from '@skillstoke/author'
import type { Diagnostic } from '@skillstoke/core'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 5_000
/** A script for another shell, such as zsh, is not for bash to judge. */
const IS_FOREIGN = /^#!(?!.*\b(?:ba|da)?sh\b)/

/** Reports the syntax errors of shell scripts. Bash reads the texts, but runs no command. Without bash, nothing is reported. */
export async function findShellFaults(
  files: readonly CheckedFile[],
  folder: string,
  read: (path: string) => Promise<string | undefined>,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = []
  for (const { path, size } of files) {
    if (!path.endsWith('.sh') || size > MAX_BYTES) continue
    const script = await read(path)
    if (script === undefined || IS_FOREIGN.test(script)) continue
    const [, line, message] = /line (\d+): (.*)/.exec(await askBash(script)) ?? []
    if (message !== undefined)
      found.push({
        ...{ code: 'SCRIPT_INVALID', severity: 'warning', path: join(folder, path) },
        ...{ line: Number(line), column: 1, message: `bash cannot read the script: ${message}` },
        fix: 'correct the line, or the block around it',
      })
  }
  return found
}

/** Returns what bash says about a script that it cannot read, or an empty text. */
async function askBash(script: string): Promise<string> {
  try {
    // Without BASH_ENV, and with -n, bash runs nothing.
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' }
    const bash = spawn('bash', ['--norc', '--noprofile', '-n'], { env, timeout: TIMEOUT_MS, stdio: 'pipe' })
    bash.stdin.on('error', () => undefined) // bash ends at the first error, perhaps before it has read everything
    bash.stdin.end(script)
    const [said, [exit]] = await Promise.all([text(bash.stderr), once(bash, 'exit')])
    return exit === 0 ? '' : said
  } catch {
    return '' // there is no bash
  }
}
