/**
 * Visits the start items and everything that `visit` returns, breadth first. The function is not recursive, so a deep
 * tree cannot overflow the stack. `visit` can return fewer items to keep the walk within a budget.
 */
export async function walkBreadthFirst<T>(
  start: readonly T[],
  visit: (item: T) => Promise<readonly T[]>,
  concurrency: number,
  signal: AbortSignal,
): Promise<void> {
  let level: readonly T[] = start
  while (level.length > 0) level = (await mapConcurrently(level, visit, concurrency, signal)).flat()
}

/**
 * Maps the items with at most `concurrency` concurrent calls. Results keep the order of the items. After a failure or
 * an abort, no further call starts. The promise settles when all running calls have ended.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
  concurrency: number,
  signal: AbortSignal,
): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++
      try {
        signal.throwIfAborted()
        results[index] = await map(items[index] as T)
      } catch (thrown) {
        next = items.length
        throw thrown
      }
    }
  }
  const workers = Array.from({ length: Math.min(concurrency, items.length) }, work)
  const outcomes = await Promise.allSettled(workers)
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return results
}
