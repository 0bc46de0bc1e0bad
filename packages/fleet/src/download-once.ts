import { SkillError } from '@skillstoke/core'
import type { SkillStore } from '@skillstoke/core/source'

/** How long another process may retrieve nothing before this one retrieves the same files. */
const WAIT_MS = 5_000
/** How often files that were retrieved become visible to the processes that wait for them. */
const SHARE_MS = 500

/**
 * Runs work that retrieves files into a store. Of all processes that share the store, one retrieves the files, and the others
 * wait and find them in the store. Progress decides: while the other process gets ahead, this one waits.
 * @param countMissing counts the files that the store does not have
 */
export async function downloadOnce<T>(
  store: SkillStore,
  name: string,
  countMissing: () => number,
  work: () => Promise<T>,
): Promise<T> {
  for (let missing = countMissing(); missing > 0 && store.exclusively !== undefined; ) {
    let hasBegun = false
    try {
      const done = await store.exclusively(name, WAIT_MS, async () => {
        if (countMissing() === 0) return undefined
        hasBegun = true
        return { result: await sharing(store, work) }
      })
      if (done !== undefined) return done.result
      break
    } catch (thrown) {
      if (hasBegun) throw thrown
      const left = countMissing()
      const isAhead = SkillError.isInstance(thrown, 'LOCKED') && left < missing
      if (!isAhead) break
      missing = left
    }
  }
  return await work()
}

/** Writes what arrives to the disk at intervals, and at the end. A full disk is reported as the fault of the store. */
async function sharing<T>(store: SkillStore, work: () => Promise<T>): Promise<T> {
  const flush = async (): Promise<void> => await store.flush().catch(() => undefined)
  const timer = setInterval(() => void flush(), SHARE_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await flush()
  }
}
