import { digestOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { SkillSource, SkillStore } from '@skillstoke/core/source'

export interface FreezeOptions {
  /** Whether this process was told to freeze them. */
  readonly isFrozen: boolean
  /** Whether this process serves them until it is ended, so that without being told to freeze them it thaws them. */
  readonly serves: boolean
}

/**
 * Returns whether changes of the sources wait for approval. The store notes what was frozen, so that a command that only looks at
 * frozen skills, or decides about one of them, lets none of the others go live.
 */
export async function settleFreeze(
  sources: readonly SkillSource[],
  { isFrozen, serves }: FreezeOptions,
  store: SkillStore | undefined,
): Promise<boolean> {
  if (store === undefined) return isFrozen
  const names = sources.map(({ origin }) => JSON.stringify(['frozen', origin]))
  const isNoted = (name: string): boolean => store.getRef(name) !== undefined
  if (!isFrozen && !serves) return names.some(isNoted)
  // Any digest says it; that of nothing needs nothing to be kept.
  const mark = isFrozen ? digestOf(new Uint8Array(), nodeHasher) : undefined
  for (const name of names) if (isNoted(name) !== isFrozen) store.setRef(name, mark)
  // Other processes know it before anything is served. What cannot be written now is in the store's `fault`, and is tried again.
  await store.flush().catch(() => undefined)
  return isFrozen
}
