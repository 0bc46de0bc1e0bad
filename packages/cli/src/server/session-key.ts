import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { DEFAULT_MAX_SESSIONS } from '../config/defaults.ts'

const FILE = 'session-key'
const MIN_LENGTH = 32

/** Returns the limits of MCP sessions, and the key that lets sessions continue after a restart. */
export function toSessionOptions({ server, stateDirectory }: Pick<Config, 'server' | 'stateDirectory'>): {
  readonly maxSessions: number
  readonly sessionKey?: string
} {
  const { maxSessions = DEFAULT_MAX_SESSIONS, sessionKey = findKey(stateDirectory) } = server
  return { maxSessions, ...defined({ sessionKey }) }
}

/**
 * Returns the key in the state directory, and creates it once. Returns `undefined` if the state directory cannot be used,
 * which the runtime reports by itself.
 */
function findKey(stateDirectory: string): string | undefined {
  const path = join(stateDirectory, FILE)
  try {
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 })
    // Fails if the file exists, so that two processes that start at the same time use the same key.
    writeFileSync(path, randomBytes(MIN_LENGTH).toString('base64url'), { mode: 0o600, flag: 'wx' })
  } catch {
    // The file exists, or cannot be written.
  }
  try {
    const key = readFileSync(path, 'utf8').trim()
    return key.length < MIN_LENGTH ? undefined : key
  } catch {
    return undefined
  }
}
