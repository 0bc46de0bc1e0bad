import { type AuthInfo, bearerAuthChallengeResponse } from '@modelcontextprotocol/server'
import { portableHasher } from '@skillstoke/core/source'
import type { ClientAccess } from './client-access.ts'

/**
 * Returns who sent a request: the client and the scope that its verified token stands for, so that a renewed token keeps
 * a session. Without access control the token is the only sign of a client, so its digest is the owner. Returns the
 * empty text for a request without a token.
 */
export function ownerOf(request: Request, auth?: AuthInfo, scopeKey = ''): string {
  if (auth !== undefined) return JSON.stringify([auth.clientId, scopeKey])
  const header = request.headers.get('authorization') ?? ''
  return header === '' ? '' : portableHasher.sha256(header)
}

/**
 * Returns the answer that refuses a request. The challenge for a request without a bearer token names no error (RFC 6750,
 * section 3.1).
 */
export function toChallenge(thrown: unknown, access: ClientAccess, { headers }: Request): Response {
  const response = bearerAuthChallengeResponse(thrown, access)
  const challenge = response.headers.get('www-authenticate')
  const hasToken = /^bearer +\S/i.test(headers.get('authorization') ?? '')
  if (hasToken || challenge === null) return response
  const { requiredScopes = [], resourceMetadataUrl } = access
  const parameters = [
    ...(requiredScopes.length === 0 ? [] : [`scope="${requiredScopes.join(' ')}"`]),
    ...(resourceMetadataUrl === undefined ? [] : [`resource_metadata="${resourceMetadataUrl}"`]),
  ]
  return Response.json(
    { message: 'this server needs a token; send it as "Authorization: Bearer ..."' },
    {
      status: response.status,
      headers: { 'WWW-Authenticate': ['Bearer', parameters.join(', ')].join(' ').trim() },
    },
  )
}
