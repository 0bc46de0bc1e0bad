import { createHash, timingSafeEqual } from 'node:crypto'
import { type AuthInfo, OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server'
import { SkillError, type SkillScope } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote } from '@skillstoke/core/internal'
import type { ClientAccess } from '../client-access.ts'

/** A client that sends a fixed token. Give either `token` or `sha256`. */
export interface BearerClient {
  /** Name of the client in audit entries, traces and limits. */
  readonly name: string
  /** The token, at least 32 printable characters without spaces. */
  readonly token?: string
  /** `hashToken(token)`. A configuration with hashes contains no secret. */
  readonly sha256?: string
  /** The skills that the client may see. @default all */
  readonly scope?: SkillScope
  /** When the token ends, in milliseconds since 1970. @default never */
  readonly expiresAt?: number
}

interface KnownClient {
  readonly client: BearerClient
  readonly hash: Buffer
}

const KNOWN: KnownOptions<BearerClient> = {
  name: true,
  token: true,
  sha256: true,
  scope: true,
  expiresAt: true,
}
const MIN_LENGTH = 32
/** The year 9999. */
const NEVER_SECONDS = 253_370_764_800

/**
 * Returns the SHA-256 hash of a token, as 64 hexadecimal digits.
 *
 * @example
 * ```ts
 * import { hashToken } from '@skillstoke/mcp/auth'
 *
 * console.log(hashToken('x'.repeat(32)).length) // prints 64
 * ```
 */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/**
 * Gives each client its own token, and its own scope of skills. Clients send `Authorization: Bearer <token>`. Without a
 * client, the server refuses every request.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { createSkillsServer } from '@skillstoke/mcp'
 * import { bearerTokens } from '@skillstoke/mcp/auth'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const access = bearerTokens([{ name: 'help-desk', token: 'x'.repeat(32), scope: { include: ['support-*'] } }])
 * await using server = createSkillsServer(skills, { access })
 * console.log((await server.fetch(new Request('http://localhost/mcp', { method: 'POST' }))).status) // prints 401
 * ```
 */
export function bearerTokens(clients: readonly BearerClient[]): ClientAccess {
  const known = clients.map(toKnown)
  const names = new Set(clients.map(({ name }) => name))
  if (names.size < clients.length)
    throw new SkillError('INVALID_OPTION', 'two clients of bearerTokens() have the same name')
  if (new Set(known.map(({ hash }) => hash.toString('hex'))).size < clients.length)
    throw new SkillError('INVALID_OPTION', 'two clients of bearerTokens() have the same token')
  const scopes = new Map(clients.map(({ name, scope }) => [name, scope]))
  return {
    verifier: {
      // `async`, because the SDK expects a promise.
      verifyAccessToken: async token => toAuthInfo(find(known, token), token),
    },
    scopeOf: ({ clientId }) => scopes.get(clientId),
  }
}

/** Compares with every client, so that the time does not tell which one is nearly right. */
function find(known: readonly KnownClient[], token: string): BearerClient | undefined {
  const hash = createHash('sha256').update(token).digest()
  let found: BearerClient | undefined
  for (const each of known) if (timingSafeEqual(hash, each.hash)) found = each.client
  return found
}

function toAuthInfo(client: BearerClient | undefined, token: string): AuthInfo {
  if (client === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'the token is not known')
  const { name, expiresAt } = client
  // The SDK refuses tokens without an end.
  const end = expiresAt === undefined ? NEVER_SECONDS : expiresAt / 1_000
  return { token, clientId: name, scopes: [], expiresAt: end }
}

function toKnown(client: BearerClient): KnownClient {
  checkOptions('bearerTokens()', client, KNOWN)
  const { name, token, sha256 } = client
  const shown = quote(name)
  if (typeof name !== 'string' || name.trim() === '')
    throw new SkillError('INVALID_OPTION', 'a client of bearerTokens() has no name')
  if ((token === undefined) === (sha256 === undefined))
    throw new SkillError('INVALID_OPTION', `the client ${shown} needs either "token" or "sha256"`)
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new SkillError('INVALID_OPTION', `the token of ${shown} has characters that no header may have`)
  if (token !== undefined && token.length < MIN_LENGTH)
    throw new SkillError(
      'INVALID_OPTION',
      `the token of ${shown} has ${token.length} characters; use at least ${MIN_LENGTH}, for example from "openssl rand -hex 16"`,
    )
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256))
    throw new SkillError('INVALID_OPTION', `"sha256" of ${shown} must have 64 hexadecimal digits`)
  return { client, hash: Buffer.from(sha256 ?? hashToken(token ?? ''), 'hex') }
}
