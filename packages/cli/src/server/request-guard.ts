import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { quote } from '@skillstoke/core/internal'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { KEY_HEADER } from '../client/api-types.ts'
import { fail } from './api-failure.ts'

export interface RequestGuardOptions {
  readonly token: string
  /** Additional host names to allow. The names of the loopback interface are always allowed. */
  readonly allowedHosts: readonly string[]
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'] as const

/**
 * Checks the requests to the dev server. The value of the header Host must be allowed, and also the value of Origin if
 * the request has this header. A request also needs either the token, or the cookie and the key of a page. Checking
 * Host and Origin prevents DNS rebinding.
 */
export class RequestGuard {
  readonly #options: RequestGuardOptions
  // The cookie and the key are derived from the token, so that an open page still works after a restart with the same
  // token.
  readonly #cookie: string
  /**
   * A page must send this key in addition to the cookie. Browsers send cookies to every port of a host, but only the
   * page itself can send the key.
   */
  readonly #key: string
  #port = 0

  constructor(options: RequestGuardOptions) {
    this.#options = options
    this.#cookie = derive(options.token, 'cookie')
    this.#key = derive(options.token, 'key')
  }

  /** Sets the port on which the server now listens. */
  listening(port: number): void {
    this.#port = port
  }

  /** Checks the headers Host and Origin of every request. */
  readonly checkAddress: MiddlewareHandler = async (context, next) => {
    const host = context.req.header('host')
    if (host === undefined || !this.#isOurs(host))
      fail(403, 'FORBIDDEN', `the host ${quote(host ?? '')} is not allowed; allow it with --allow-host`)
    const origin = context.req.header('origin')
    if (origin !== undefined && !this.#isOurOrigin(origin))
      fail(403, 'FORBIDDEN', `pages of ${quote(origin)} may not use this server`)
    return await next()
  }

  /** Requires the token, or the cookie and the key of a page. */
  readonly checkCaller: MiddlewareHandler = async (context, next) => {
    if (this.#hasToken(context) || this.#hasCookie(context)) return await next()
    return this.#refuse(context)
  }

  /** Requires the token, on routes that no page calls. */
  readonly checkToken: MiddlewareHandler = async (context, next) => {
    if (this.#hasToken(context)) return await next()
    return this.#refuse(context)
  }

  /** Gives a page its cookie and its key in exchange for the token. The page must send both with each request. */
  login(context: Context, token: unknown): { readonly key: string } {
    if (typeof token !== 'string' || !isEqual(token, this.#options.token))
      fail(401, 'UNAUTHORIZED', 'the token is wrong; open the address that dev printed')
    setCookie(context, this.#cookieName, this.#cookie, { httpOnly: true, sameSite: 'Strict', path: '/' })
    return { key: this.#key }
  }

  #refuse(context: Context): never {
    context.header('WWW-Authenticate', 'Bearer')
    return fail(
      401,
      'UNAUTHORIZED',
      'the token is missing or wrong; send it as "Authorization: Bearer ...", or open the address that dev printed',
    )
  }

  #hasToken(context: Context): boolean {
    const [, token] = /^Bearer +(\S+) *$/i.exec(context.req.header('authorization') ?? '') ?? []
    return token !== undefined && isEqual(token, this.#options.token)
  }

  #hasCookie(context: Context): boolean {
    const cookie = getCookie(context, this.#cookieName)
    const key = context.req.header(KEY_HEADER)
    return (
      cookie !== undefined && isEqual(cookie, this.#cookie) && key !== undefined && isEqual(key, this.#key)
    )
  }

  /** The name of the cookie includes the port, because all ports of a host share their cookies. */
  get #cookieName(): string {
    return `skillstoke-${this.#port}`
  }

  #isOurs(host: string): boolean {
    const [, name = '', port] = /^(.+?)(?::(\d+))?$/.exec(host.toLowerCase()) ?? []
    if (Number(port ?? 80) !== this.#port) return false
    return (
      LOOPBACK_NAMES.some(each => each === name) ||
      this.#options.allowedHosts.some(each => each.toLowerCase() === name)
    )
  }

  #isOurOrigin(origin: string): boolean {
    const [, host] = /^http:\/\/([^/]+)$/.exec(origin) ?? []
    return host !== undefined && this.#isOurs(host)
  }
}

function derive(token: string, purpose: string): string {
  return createHmac('sha256', token).update(`skillstoke ${purpose}`).digest('base64url')
}

/** Compares two values in constant time. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}
