import { defined } from '@skillstoke/core/internal'
import type { HistoryItem } from '../history-place.ts'

/** Returns the items without the texts of the adapter. */
type ToStored = (items: readonly HistoryItem[]) => readonly HistoryItem[]

type Method = (first: unknown, ...rest: readonly unknown[]) => unknown

/** The methods whose first argument is a list of items. */
const WRITERS: ReadonlySet<unknown> = new Set([
  'addItems',
  'addItemsWithCompactionOwnership',
  'replaceHistoryWithCompaction',
])

/**
 * Wraps a session so that it stores no texts of the adapter. The SDK would store every item that a
 * `callModelInputFilter` adds, once for each turn and not at its place.
 */
export function withoutNotices<Session extends object>(session: Session, toStored: ToStored): Session {
  return new Proxy(session, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      // Bind the method to the session, because private fields do not exist on the proxy.
      const method = value.bind(target) as Method
      if (key === 'applyHistoryTransaction')
        return (first: Transaction, ...rest: readonly unknown[]) =>
          method(toStoredTransaction(first, toStored), ...rest)
      if (!WRITERS.has(key)) return method
      return async (items: readonly HistoryItem[], ...rest: readonly unknown[]) => {
        const stored = toStored(items)
        if (stored.length > 0 || items.length === 0) await method(stored, ...rest)
      }
    },
  })
}

interface Transaction {
  readonly transaction: {
    readonly items?: readonly HistoryItem[]
    readonly replacement?: readonly HistoryItem[]
  }
}

function toStoredTransaction(first: Transaction, toStored: ToStored): Transaction {
  const { items, replacement } = first.transaction
  const changed = defined({
    items: items && toStored(items),
    replacement: replacement && toStored(replacement),
  })
  return { ...first, transaction: { ...first.transaction, ...changed } }
}
