import type { AuthInfo, OAuthTokenVerifier } from '@modelcontextprotocol/server'
import type { SkillScope } from '@skillstoke/core'

/**
 * Decides who may use a server over HTTP, and which skills each client sees. `bearerTokens()` and `oauthResource()` of
 * `@skillstoke/mcp/auth` return one.
 */
export interface ClientAccess {
  /** Checks the bearer token of a request. The server refuses tokens without `expiresAt`. */
  readonly verifier: OAuthTokenVerifier
  /** OAuth scopes that every token must have. @default none */
  readonly requiredScopes?: string[]
  /** Accepts only tokens whose `resource` is this address. @default any resource */
  readonly expectedResource?: URL
  /** Address of the metadata of the protected resource, which refusals name. @default none */
  readonly resourceMetadataUrl?: string
  /** Returns the skills that a client may see; `undefined` for all skills of the server. @default all skills */
  readonly scopeOf?: (auth: AuthInfo) => SkillScope | undefined
  /**
   * Calls a listener after the accepted tokens or their scopes have changed. The streams of clients that may no longer use
   * the server, or see other skills now, then end at once. Returns a function that ends the subscription.
   * @default the token of an open stream is checked once a minute
   */
  readonly subscribe?: (listener: () => void) => () => void
  /** Answers requests for public documents. Returns `undefined` for other requests. @default no documents */
  readonly respond?: (request: Request) => Response | undefined
}
