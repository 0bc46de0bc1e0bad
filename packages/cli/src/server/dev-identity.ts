import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { toRunFileRoots } from './run-file.ts'

/** The token and the port that a server with the same sources uses again after a restart. */
export interface DevIdentity {
  readonly token: string
  /** Absent if no server with these sources has listened yet. */
  readonly port?: number
}

const FOLDER = 'identities'

/**
 * Remembers the token and the port of `stoke dev` and `stoke serve` for one list of sources, so that configured clients
 * and an open page survive a restart. The file is readable only by the user.
 */
export class DevIdentities {
  readonly #path: string
  readonly #folder: string

  constructor(config: Config, verb: 'dev' | 'serve') {
    this.#folder = join(config.stateDirectory, FOLDER)
    const key = createHash('sha256')
      .update(JSON.stringify([verb, toRunFileRoots(config)]))
      .digest('hex')
    this.#path = join(this.#folder, `${key.slice(0, 32)}.json`)
  }

  /** Returns the remembered identity, or a new one. */
  find({ isNew = false }: { readonly isNew?: boolean } = {}): DevIdentity {
    const known = isNew ? undefined : this.#read()
    return known ?? { token: randomBytes(32).toString('base64url') }
  }

  /**
   * Remembers a token, and the port on which the server listens. A port that the user named is not remembered. A
   * remembered port stays, because another running server with the same sources may use it now. If the file cannot be
   * written, the next start has another token.
   */
  remember(
    token: string,
    { port, isPortNamed }: { readonly port: number; readonly isPortNamed: boolean },
  ): void {
    const kept = this.#read()?.port ?? (isPortNamed ? undefined : port)
    const identity: DevIdentity = { token, ...(kept === undefined ? {} : { port: kept }) }
    const draft = `${this.#path}.${process.pid}.tmp`
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      writeFileSync(draft, `${JSON.stringify(identity)}\n`, { mode: 0o600 })
      renameSync(draft, this.#path)
    } catch {
      // The state directory is full or read-only, which the runtime reports by itself.
    }
  }

  #read(): DevIdentity | undefined {
    try {
      const { token, port } = JSON.parse(readFileSync(this.#path, 'utf8')) as Partial<DevIdentity>
      if (typeof token !== 'string' || token.length < 32) return undefined
      return { token, ...(typeof port === 'number' ? { port } : {}) }
    } catch {
      return undefined // missing or damaged
    }
  }
}
