const EXPOSED_HEADERS = 'Mcp-Session-Id, WWW-Authenticate, Retry-After'
const METHODS = 'GET, POST, DELETE'
const PREFLIGHT_SECONDS = '600'

type Handler = (request: Request) => Promise<Response>

/**
 * Lets pages of other origins read the answers (CORS). The caller has checked the header `Origin`, so each origin that
 * gets here is allowed. A preflight is answered here, because browsers send it without a token.
 */
export function withCrossOrigin(answer: Handler): Handler {
  return async request => {
    const origin = request.headers.get('origin')
    if (origin === null) return await answer(request)
    const wanted = request.headers.get('access-control-request-headers')
    const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method')
    const response = isPreflight ? new Response(null, { status: 204 }) : await answer(request)
    response.headers.set('Access-Control-Allow-Origin', origin)
    response.headers.append('Vary', 'Origin')
    response.headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    if (!isPreflight) return response
    response.headers.set('Access-Control-Allow-Methods', METHODS)
    if (wanted !== null) response.headers.set('Access-Control-Allow-Headers', wanted)
    response.headers.set('Access-Control-Max-Age', PREFLIGHT_SECONDS)
    return response
  }
}
