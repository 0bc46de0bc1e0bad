import { digestOf, placeOfSource } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { SkillSource, SkillState } from '@skillstoke/core/source'

export interface FreezeOptions {
  /** Whether this process was told to freeze them. */
  readonly isFrozen: boolean
  /** Whether this process serves them until it is ended, so that without being told to freeze them it thaws them. */
  readonly serves: boolean
}

/**
 * Returns whether changes of the sources wait for approval. The state notes what was frozen, so that a command that only looks at
 * frozen skills, or decides about one of them, lets none of the others go live. The store has a note at once, the decisions one
 * that outlives the store.
 */
export async function settleFreeze(
  sources: readonly SkillSource[],
  { isFrozen, serves }: FreezeOptions,
  { store, decisions }: SkillState,
): Promise<boolean> {
  const origins = sources.map(({ origin }) => origin)
  const isNoted = (origin: string): boolean => store?.getRef(nameOf(origin)) !== undefined
  const isDecided = (origin: string): boolean => decisions?.find(placeOfSource(origin))?.frozen !== undefined
  if (!isFrozen && !serves) return origins.some(origin => isNoted(origin) || isDecided(origin))
  if (!isFrozen)
    for (const origin of origins.filter(isDecided))
      await decisions?.record(placeOfSource(origin), { kind: 'thaw', by: 'dev or mcp', at: Date.now() })
  if (store === undefined) return isFrozen
  // Any digest says it; that of nothing needs nothing to be kept.
  const mark = isFrozen ? digestOf(new Uint8Array(), nodeHasher) : undefined
  for (const origin of origins) if (isNoted(origin) !== isFrozen) store.setRef(nameOf(origin), mark)
  // Other processes know it before anything is served. What cannot be written now is in the store's `fault`, and is tried again.
  await store.flush().catch(() => undefined)
  return isFrozen
}

function nameOf(origin: string): string {
  return JSON.stringify(['frozen', origin])
}
