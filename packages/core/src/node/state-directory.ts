import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { SkillError, toMessage } from '../index.ts'

/** Where state that outlives a process belongs: `$XDG_STATE_HOME/skillstoke`, else `~/.local/state/skillstoke`. */
export function defaultStateDirectory(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const base = environment['XDG_STATE_HOME']
  return join(base === undefined || base === '' ? join(homedir(), '.local', 'state') : base, 'skillstoke')
}

/**
 * Makes sure that a state directory exists, readable by nobody else.
 * @throws {SkillError} IO_FAILED
 */
export function createStateDirectory(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `the state directory ${JSON.stringify(path)} cannot be made: ${toMessage(thrown)}; choose another`,
      { cause: thrown },
    )
  }
}
