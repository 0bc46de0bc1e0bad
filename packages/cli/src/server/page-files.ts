import { fileURLToPath } from 'node:url'
import { serveStatic } from '@hono/node-server/serve-static'
import type { MiddlewareHandler } from 'hono'

/** Folder into which the build writes the page. */
const PAGE_DIRECTORY = fileURLToPath(new URL('dist/page/', import.meta.resolve('skillstoke/package.json')))

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  // The page may load files only from this server. Trusted Types prevent text from becoming markup or code.
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** Adds the security headers to every response. */
export const addSecurityHeaders: MiddlewareHandler = async (context, next) => {
  await next()
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.res.headers.set(name, value)
}

/** Serves the built page without authentication. The page contains no data; it requests all data from the API. */
export const servePage: MiddlewareHandler = serveStatic({ root: PAGE_DIRECTORY })

/** The names of assets contain their hash, so that browsers may keep them. */
export const addCaching: MiddlewareHandler = async (context, next) => {
  await next()
  const isHashed = context.res.ok && context.req.path.startsWith('/assets/')
  context.header('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
}
