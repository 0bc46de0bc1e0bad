import {
  type AuthInfo,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
} from '@modelcontextprotocol/server'
import { SkillError, type SkillScope } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote, showValue, toMessage } from '@skillstoke/core/internal'
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { ClientAccess } from '../client-access.ts'

export interface OAuthResourceOptions {
  /** Address of this MCP server as clients use it, for example `https://skills.example.com/mcp`. */
  readonly resource: string
  /** The authorization server that issues the tokens, for example `https://login.example.com`. */
  readonly issuer: string
  /** Address of the keys of the issuer. @default the `jwks_uri` in the metadata of the issuer */
  readonly jwksUrl?: string
  /** The audience that tokens must name. @default `resource` */
  readonly audience?: string
  /** OAuth scopes that every token must have. @default none */
  readonly requiredScopes?: readonly string[]
  /**
   * Names of the skills that each OAuth scope opens, with `*` for any characters. A client sees the skills of all its
   * scopes together, and no skill without one of these scopes. @default every token opens all skills
   */
  readonly skills?: Readonly<Record<string, readonly string[]>>
  /** Name of this server in the metadata. @default none */
  readonly resourceName?: string
}

const KNOWN: KnownOptions<OAuthResourceOptions> = {
  resource: true,
  issuer: true,
  jwksUrl: true,
  audience: true,
  requiredScopes: true,
  skills: true,
  resourceName: true,
}

/** Algorithms with a public key. Without this list, a token could choose a weaker one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const METADATA_PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
const METADATA_TIMEOUT_MS = 5_000
const CLOCK_TOLERANCE_SECONDS = 30
const NOTHING: SkillScope = { exclude: ['*'] }

/**
 * Accepts the JSON Web Tokens of an authorization server, as an OAuth 2.1 resource server. Serves the metadata of the
 * protected resource (RFC 9728), with which clients find the authorization server.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { createSkillsServer } from '@skillstoke/mcp'
 * import { oauthResource } from '@skillstoke/mcp/auth'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const access = oauthResource({
 *   resource: 'https://skills.example.com/mcp',
 *   issuer: 'https://login.example.com',
 *   skills: { 'skills:support': ['support-*'] },
 * })
 * await using server = createSkillsServer(skills, { access })
 * const answer = await server.fetch(
 *   new Request('https://skills.example.com/.well-known/oauth-protected-resource/mcp'),
 * )
 * console.log(answer.status, (await answer.text()).includes('https://login.example.com')) // prints 200 true
 * ```
 */
export function oauthResource(options: OAuthResourceOptions): ClientAccess {
  checkOptions('oauthResource()', options, KNOWN)
  const resource = toUrl('resource', options.resource)
  toUrl('issuer', options.issuer)
  if (options.jwksUrl !== undefined) toUrl('jwksUrl', options.jwksUrl)
  const { skills, requiredScopes = [], audience = options.resource } = options
  const findKeys = createKeyFinder(options)
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource)
  const metadata = {
    resource: options.resource,
    authorization_servers: [options.issuer],
    bearer_methods_supported: ['header'],
    ...(skills === undefined && requiredScopes.length === 0
      ? {}
      : { scopes_supported: [...new Set([...requiredScopes, ...Object.keys(skills ?? {})])] }),
    ...(options.resourceName === undefined ? {} : { resource_name: options.resourceName }),
  }
  const expected = { issuer: options.issuer, audience, resource }
  return {
    verifier: { verifyAccessToken: async token => await verify(token, await findKeys(), expected) },
    ...(requiredScopes.length === 0 ? {} : { requiredScopes: [...requiredScopes] }),
    resourceMetadataUrl,
    ...(skills === undefined ? {} : { scopeOf: ({ scopes }) => toSkillScope(scopes, skills) }),
    respond: request => respond(request, new URL(resourceMetadataUrl).pathname, metadata),
  }
}

/** Returns a function that finds the keys of an issuer at the first token, and keeps them. */
function createKeyFinder({ issuer, jwksUrl }: OAuthResourceOptions): () => Promise<JWTVerifyGetKey> {
  let keys: Promise<JWTVerifyGetKey> | undefined
  const find = async (): Promise<JWTVerifyGetKey> =>
    createRemoteJWKSet(toUrl('jwks_uri', jwksUrl ?? (await findJwksUrl(issuer))))
  return async () => {
    keys ??= find().catch((thrown: unknown) => {
      keys = undefined // asks again at the next token
      throw toServerError('are not known', thrown)
    })
    return await keys
  }
}

function toServerError(what: string, thrown: unknown): OAuthError {
  const message = `the keys of the issuer ${what}: ${toMessage(thrown)}`
  return new OAuthError(OAuthErrorCode.ServerError, message)
}

/** Reads the metadata of an authorization server (RFC 8414), or of an OpenID provider. */
async function findJwksUrl(issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [
    ...METADATA_PATHS.map(known => `${origin}${known}${path}`),
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  const faults: string[] = []
  for (const place of new Set(places)) {
    try {
      const signal = AbortSignal.timeout(METADATA_TIMEOUT_MS)
      const response = await fetch(place, { signal, redirect: 'error' })
      if (!response.ok) throw new Error(`status ${response.status}`)
      const document = (await response.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown }
      if (document.issuer !== issuer) throw new Error(`it is the metadata of ${showValue(document.issuer)}`)
      if (typeof document.jwks_uri !== 'string') throw new Error('it has no "jwks_uri"')
      return document.jwks_uri
    } catch (thrown) {
      faults.push(`${place}: ${toMessage(thrown)}`)
    }
  }
  throw new Error(faults.join('; '))
}

async function verify(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, audience, resource }: { issuer: string; audience: string; resource: URL },
): Promise<AuthInfo> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp'],
    })
    return {
      token,
      clientId: clientOf(payload),
      scopes: scopesOf(payload),
      ...(payload.exp === undefined ? {} : { expiresAt: payload.exp + CLOCK_TOLERANCE_SECONDS }),
      resource,
      extra: { subject: payload.sub },
    }
  } catch (thrown) {
    if (thrown instanceof OAuthError) throw thrown
    // A plain JOSEError means that the keys could not be fetched. All faults of a token are errors of a subclass.
    const isFaultOfToken = thrown instanceof errors.JOSEError && thrown.constructor !== errors.JOSEError
    if (!isFaultOfToken || thrown instanceof errors.JWKSTimeout) throw toServerError('cannot be read', thrown)
    throw new OAuthError(OAuthErrorCode.InvalidToken, toMessage(thrown))
  }
}

/**
 * Returns who uses the token: the client, and the user if the token names one. Both are encoded, because sessions belong
 * to this identity, and two different pairs must never give the same text.
 * @throws {OAuthError} invalid_token when the token names neither
 */
function clientOf({ sub: user = '', ...claims }: JWTPayload): string {
  const named = claims['client_id'] ?? claims['azp']
  const client = typeof named === 'string' ? encodeURIComponent(named) : ''
  if (client === '' && user === '')
    throw new OAuthError(OAuthErrorCode.InvalidToken, 'the token names neither a client nor a user')
  if (user === '') return client
  // An encoded client name contains neither a colon nor a blank, so users and clients cannot be confused.
  return client === '' ? `user:${encodeURIComponent(user)}` : `${client} ${encodeURIComponent(user)}`
}

function scopesOf({
  scope,
  scp,
}: JWTPayload & { readonly scope?: unknown; readonly scp?: unknown }): string[] {
  const scopes = scope ?? scp
  if (typeof scopes === 'string') return scopes.split(' ').filter(each => each !== '')
  return Array.isArray(scopes) ? scopes.filter(each => typeof each === 'string') : []
}

/** Returns the skills of all scopes together. */
function toSkillScope(
  scopes: readonly string[],
  skills: Readonly<Record<string, readonly string[]>>,
): SkillScope | undefined {
  const include = scopes.flatMap(scope => (Object.hasOwn(skills, scope) ? (skills[scope] ?? []) : []))
  if (include.length === 0) return NOTHING
  return include.includes('*') ? undefined : { include: [...new Set(include)].sort() }
}

function respond(request: Request, path: string, document: unknown): Response | undefined {
  if (new URL(request.url).pathname !== path) return undefined
  const headers = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Methods': 'GET' }
  if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers })
  if (request.method !== 'GET')
    return new Response('use GET', { status: 405, headers: { ...headers, Allow: 'GET' } })
  return Response.json(document, { headers })
}

/** Checks an address. Only addresses of this machine may be unencrypted. */
function toUrl(field: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url !== undefined && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw new SkillError(
    'INVALID_OPTION',
    `"${field}" is ${quote(text)}; use an https address, or http on this machine`,
  )
}
