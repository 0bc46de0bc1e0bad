import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { compareText, quote } from '@skillstoke/core/internal'

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor?: string
}

/**
 * Returns one page of a list. A cursor is the key of the last entry on the previous page, so the next page is correct
 * even if entries were added or removed.
 * @param items sorted by their key, in the order of `compareText`
 * @throws {ProtocolError} when the cursor is not from `toPage`
 */
export function toPage<T>(
  items: readonly T[],
  cursor: string | undefined,
  keyOf: (item: T) => string,
  pageSize: number,
): Page<T> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  const start = after === undefined ? 0 : items.findIndex(item => compareText(keyOf(item), after) > 0)
  if (start < 0) return { items: [] }
  const page = items.slice(start, start + pageSize)
  const last = page.at(-1)
  const hasMore = last !== undefined && start + page.length < items.length
  return hasMore ? { items: page, nextCursor: encodeCursor(keyOf(last)) } : { items: page }
}

function encodeCursor(key: string): string {
  return Buffer.from(key).toString('base64url')
}

function decodeCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (encodeCursor(key) !== cursor) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `the cursor ${quote(cursor)} is not from this server; start without a cursor`,
    )
  }
  return key
}
