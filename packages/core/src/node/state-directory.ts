import { mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { SkillError } from '../index.ts'
import { toMessage } from '../internal-entry.ts'

/** Where state that outlives a process belongs: `$XDG_STATE_HOME/skillstoke`, else `~/.local/state/skillstoke`. */
export function defaultStateDirectory(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const base = environment['XDG_STATE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.local', 'state') : base, 'skillstoke')
}

/**
 * Makes sure that a state directory exists and that no other user can write to it; a new one cannot be read by others either.
 * @throws {SkillError} IO_FAILED
 */
export function createStateDirectory(path: string): string {
  if (path.trim() === '')
    throw new SkillError(
      'INVALID_OPTION',
      'the path of the state directory is empty; use defaultStateDirectory()',
    )
  try {
    makeFolders(resolve(path))
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `the state directory ${JSON.stringify(path)} cannot be made: ${toMessage(thrown)}; choose another`,
      { cause: thrown },
    )
  }
  refuseOtherWriters(path)
  return path
}

/** Whoever may write there decides what is approved and what scripts may do. */
function refuseOtherWriters(path: string): void {
  const uid = process.getuid?.()
  if (uid === undefined) return
  const facts = statSync(path)
  const shown = JSON.stringify(path)
  if ((facts.mode & 0o022) !== 0)
    throw new SkillError(
      'IO_FAILED',
      `other users may write to the state directory ${shown} (mode ${(facts.mode & 0o777).toString(8)}); run "chmod go-w" on it, or choose another`,
    )
  if (uid !== 0 && facts.uid !== uid && facts.uid !== 0)
    throw new SkillError(
      'IO_FAILED',
      `the state directory ${shown} belongs to another user (${facts.uid}); choose another`,
    )
}

/** Level by level: the recursive `mkdir` of Node does not end on file systems that refuse new folders as missing, such as procfs. */
function makeFolders(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown // another process may have been faster
  }
}
