import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MiddlewareHandler } from 'hono'

interface PageFile {
  readonly bytes: Buffer<ArrayBuffer>
  readonly type: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Folder into which the build writes the page. */
export const PAGE_DIRECTORY: string = fileURLToPath(
  new URL('dist/page/', import.meta.resolve('skillstoke/package.json')),
)

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
export function servePage(directory: string): MiddlewareHandler {
  const files = readPage(directory)
  return async (context, next) => {
    const file = files.get(context.req.path)
    if (file === undefined) return await next()
    const isHashed = context.req.path.startsWith('/assets/')
    return context.body(file.bytes, 200, {
      'Content-Type': file.type,
      'Cache-Control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
  }
}

function readPage(directory: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const url = `/${path.slice(directory.length).replaceAll('\\', '/')}`
    files.set(url === '/index.html' ? '/' : url, { bytes: readFileSync(path), type })
  }
  return files
}
