import { type BigIntStats, statSync, unwatchFile, watchFile } from 'node:fs'
import { toMessage } from '@skillstoke/core/internal'
import type { ClientAccess } from '@skillstoke/mcp'
import { bearerTokens, oauthResource } from '@skillstoke/mcp/auth'
import { type ClientsFile, readClientsFile } from '../config/clients-file.ts'

/** Interval at which the file is compared, so that streams of removed clients end without another request. */
const WATCH_MS = 250

/**
 * Follows a file of clients. Each request uses the newest clients, so a removed client is refused at its next request, and
 * its streams end. The last client can be removed, too.
 * If the newest file is not valid, the clients of the last valid file stay. The settings of an authorization server are
 * not followed.
 */
export class FollowedClients implements Disposable {
  readonly access: ClientAccess
  readonly #path: string
  readonly #report: (message: string) => void
  readonly #listeners = new Set<() => void>()
  readonly #look = (): void => void this.#newest()
  #file: ClientsFile
  #current: ClientAccess
  #stamp: string

  /**
   * @param report called after each change of the file, with the new clients or with the reason why they are not used
   * @throws {UsageError} when the file is not valid
   */
  constructor(path: string, report: (message: string) => void) {
    this.#path = path
    this.#report = report
    this.#stamp = stampOf(path)
    this.#file = readClientsFile(path)
    this.#current = toAccess(this.#file)
    this.access = {
      ...this.#current,
      verifier: { verifyAccessToken: async token => await this.#newest().verifier.verifyAccessToken(token) },
      scopeOf: auth => this.#current.scopeOf?.(auth),
      subscribe: listener => {
        this.#listeners.add(listener)
        return () => void this.#listeners.delete(listener)
      },
    }
    watchFile(path, { interval: WATCH_MS, persistent: false }, this.#look)
  }

  [Symbol.dispose](): void {
    unwatchFile(this.#path, this.#look)
  }

  /** The last valid file. */
  get file(): ClientsFile {
    return this.#file
  }

  #newest(): ClientAccess {
    const stamp = stampOf(this.#path)
    if (stamp === this.#stamp) return this.#current
    this.#stamp = stamp
    try {
      const file = readClientsFile(this.#path)
      if (file.kind === 'oauth' || this.#file.kind === 'oauth') {
        this.#report(`${this.#path} changed; restart to use its settings of the authorization server`)
        return this.#current
      }
      this.#current = toAccess(file)
      this.#file = file
      for (const listener of this.#listeners) listener()
      this.#report(describeClients(file))
    } catch (thrown) {
      this.#report(`${toMessage(thrown)}; the clients of the last valid file stay`)
    }
    return this.#current
  }
}

/** Describes who may use the server, for people. */
export function describeClients(file: ClientsFile): string {
  return file.kind === 'bearer'
    ? `clients  ${file.clients.map(({ name }) => name).join(', ') || 'none'}`
    : `tokens   of ${file.oauth.issuer}`
}

function toAccess(file: ClientsFile): ClientAccess {
  return file.kind === 'bearer' ? bearerTokens(file.clients) : oauthResource(file.oauth)
}

/** Returns a text that differs after each save of a file. */
function stampOf(path: string): string {
  const stat: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
}
