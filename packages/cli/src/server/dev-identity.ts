import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { dirname, join } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import type { Config, ServerConfig } from '../config/config.ts'
import { replaceFile } from '../config/replace-file.ts'
import { listenOn } from './http-server.ts'
import { toRunFileRoots } from './run-file.ts'

/** The token and the port that a server with the same sources uses again after a restart. */
interface DevIdentity {
  readonly token: string
  /** Absent if no server with these sources has listened yet. */
  readonly port?: number
}

const FOLDER = 'identities'

/**
 * The remembered token and port of `stoke dev` or `stoke serve` for one list of sources, so that configured clients and
 * an open page survive a restart. The file is readable only by the user.
 */
export interface DevIdentityFile extends DevIdentity {
  readonly path: string
}

/** Returns the remembered identity, or a new one. */
export function findIdentity(config: Config, verb: 'dev' | 'serve'): DevIdentityFile {
  const hash = createHash('sha256').update(JSON.stringify([verb, toRunFileRoots(config)]))
  const path = join(config.stateDirectory, FOLDER, `${hash.digest('hex').slice(0, 32)}.json`)
  const known = config.server.isTokenNew ? undefined : read(path)
  return { path, ...(known ?? { token: randomBytes(32).toString('base64url') }) }
}

/**
 * Listens on the port that the user named, or on the remembered port if it is free. Remembers the token and the port. A
 * port that the user named is not remembered. A remembered port stays, because another running server with the same
 * sources may use it now. If the file cannot be written, the next start has another token.
 */
export async function listenAs(
  { path, token, port: remembered }: DevIdentityFile,
  server: Server,
  { host, port, isPortNamed }: ServerConfig,
  isRemembered: boolean,
): Promise<number> {
  const wanted = isPortNamed ? [port] : [...(remembered === undefined ? [] : [remembered]), port, 0]
  const used = await listenOn(server, host, wanted)
  if (!isRemembered) return used
  const identity = { token, ...defined({ port: read(path)?.port ?? (isPortNamed ? undefined : used) }) }
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, `${JSON.stringify(identity)}\n`)
  } catch {
    // The state directory is full or read-only, which the runtime reports by itself.
  }
  return used
}

function read(path: string): DevIdentity | undefined {
  try {
    const { token, port } = JSON.parse(readFileSync(path, 'utf8')) as Partial<DevIdentity>
    if (typeof token !== 'string' || token.length < 32) return undefined
    return { token, ...(typeof port === 'number' ? { port } : {}) }
  } catch {
    return undefined // missing or damaged
  }
}
