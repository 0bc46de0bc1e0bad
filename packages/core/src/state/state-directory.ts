import { mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { ignoring } from '../disk/ignoring.ts'
import { SkillError } from '../index.ts'
import { quote, toMessage } from '../internal-entry.ts'

/**
 * Returns the directory for state that outlives a process: `$XDG_STATE_HOME/skillstoke`, else
 * `~/.local/state/skillstoke`.
 *
 * @example
 * ```ts
 * import { defaultStateDirectory } from '@skillstoke/core/node'
 *
 * console.log(defaultStateDirectory({ XDG_STATE_HOME: '/srv/state' })) // prints /srv/state/skillstoke
 * ```
 */
export function defaultStateDirectory(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const base = environment['XDG_STATE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.local', 'state') : base, 'skillstoke')
}

/**
 * Creates the state directory if it is missing. Other users can neither read nor write a new directory. Refuses an
 * existing directory that other users can write to.
 * @throws {SkillError} INVALID_OPTION when the path is empty; IO_FAILED
 *
 * @example
 * ```ts
 * import { createStateDirectory, openDecisions } from '@skillstoke/core/node'
 *
 * const path = createStateDirectory('./state')
 * const decisions = await openDecisions(path)
 * console.log(decisions.isLasting) // prints true
 * await decisions.close()
 * ```
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
      `the state directory ${quote(path)} cannot be made: ${toMessage(thrown)}; choose another`,
      { cause: thrown },
    )
  }
  refuseOtherWriters(path)
  return path
}

/** A user who can write to the directory could change approvals and grants. */
function refuseOtherWriters(path: string): void {
  const uid = process.getuid?.()
  if (uid === undefined) return
  const facts = statSync(path)
  const shown = quote(path)
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

/**
 * Creates one folder level at a time. On file systems such as procfs, which report new folders as missing, the
 * recursive `mkdir` of Node never ends.
 */
function makeFolders(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeFolders(dirname(path))
  ignoring(['EEXIST'], () => mkdirSync(path, { mode: 0o700 })) // another process may have created it
}
