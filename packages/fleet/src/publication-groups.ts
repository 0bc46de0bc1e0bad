import type { Head } from './feed-state.ts'

/** A head that must keep its earlier version, because the head `cause` keeps its own. */
export interface Companion {
  readonly head: Head
  readonly cause: Head
}

/**
 * Finds the heads that must keep their earlier versions together with heads whose files could not be retrieved: all heads
 * of the same publication. If a failed head skipped versions, the skipped ones may belong to any publication in between,
 * so these publications wait, too.
 * @param heads the heads that are not served yet
 * @param findBefore returns the head that is served instead
 */
export function findCompanions(
  heads: readonly Head[],
  failed: readonly Head[],
  findBefore: (head: Head) => Head | undefined,
): readonly Companion[] {
  const rest = new Set(heads.filter(({ manifest }) => manifest.publication !== undefined))
  for (const head of failed) rest.delete(head)
  const companions: Companion[] = []
  const causes = [...failed]
  for (const cause of causes)
    for (const head of rest) {
      if (!isTogether(cause, findBefore(cause), head)) continue
      rest.delete(head)
      companions.push({ head, cause })
      causes.push(head) // the loop comes to it
    }
  return companions
}

function isTogether(cause: Head, before: Head | undefined, head: Head): boolean {
  if (head.manifest.publishId === cause.manifest.publishId) return true
  if (before === undefined || cause.manifest.version === before.manifest.version + 1) return false
  return head.seq > before.seq && head.seq < cause.seq
}
