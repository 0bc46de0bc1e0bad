import { type AuthInfo, verifyBearerToken } from '@modelcontextprotocol/server'
import type { ResolvedMcpOptions } from './mcp-options.ts'
import { observeBody } from './observe-body.ts'

/** Interval at which the token of an open stream is checked again, in milliseconds. */
const CHECK_MS = 60_000
/** Times of tokens are whole seconds, so a shorter interval would check a token several times in its last second. */
const SHORTEST_CHECK_MS = 1_000

/**
 * Returns the same response. If it is a stream of events, ends the stream at most a second after its token ends, and at
 * most a minute after its token is no longer accepted or stands for other skills. Ends it at once if the access control
 * reports changes.
 * @param auth absent if every caller may use the server
 * @param done called when the answer has ended
 */
export function followStream(
  response: Response,
  { access, clock }: ResolvedMcpOptions,
  { auth, done }: { readonly auth: AuthInfo | undefined; readonly done: () => void },
): Response {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    done()
    return response
  }
  if (access === undefined || auth === undefined) return observeBody(response, done)
  const end = new AbortController()
  let cancelCheck: () => void = () => undefined
  const checkLater = ({ expiresAt = Infinity }: AuthInfo): void => {
    const leftMs = expiresAt * 1_000 - clock.now()
    cancelCheck = clock.after(Math.max(SHORTEST_CHECK_MS, Math.min(CHECK_MS, leftMs)), () => void check(), {
      background: true,
    })
  }
  const scopeOf = (newest: AuthInfo): string | undefined => JSON.stringify(access.scopeOf?.(newest))
  const scope = scopeOf(auth)
  const check = async (): Promise<void> => {
    cancelCheck()
    try {
      const newest = await verifyBearerToken(`Bearer ${auth.token}`, access)
      if (scopeOf(newest) !== scope) end.abort()
      else if (!end.signal.aborted) checkLater(newest)
    } catch {
      end.abort()
    }
  }
  checkLater(auth)
  const unsubscribe = access.subscribe?.(() => void check())
  const ended = (): void => {
    cancelCheck()
    unsubscribe?.()
    end.abort()
    done()
  }
  return observeBody(response, ended, end.signal)
}
