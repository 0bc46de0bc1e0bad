import { digestOf, placeOfSource } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { SharedSources, SkillSource, SkillState } from '@skillstoke/core/source'

export interface FreezeOptions {
  /** Whether this process was started with `--frozen`. */
  readonly isFrozen: boolean
  /**
   * Whether this process serves the sources until it is stopped. If a serving process starts without `--frozen`, it
   * thaws the sources.
   */
  readonly serves: boolean
  /** The folder of the project, which stays the same whatever roots a command names. */
  readonly project: string
}

/** The options `review` of a project. */
export interface Freeze {
  readonly isFrozen: boolean
  readonly shared: SharedSources
}

/** The sources of a project, and the sources that it shares with all projects of the user. */
export interface ProjectSources {
  readonly own: readonly SkillSource[]
  readonly shared: readonly SkillSource[]
}

/**
 * Separates the sources of a project from the default root that all projects of the user share. If there is no other
 * source, this root is the project.
 */
export function splitSources(sources: readonly SkillSource[], userRoot: string): ProjectSources {
  const shared = sources.filter(({ origin }) => origin === userRoot)
  return shared.length === sources.length
    ? { own: sources, shared: [] }
    : { own: sources.filter(({ origin }) => origin !== userRoot), shared }
}

/**
 * Returns whether changes in the sources wait for approval, and how the project keeps apart from others. Marks frozen sources in the state directory, so that a
 * later command without `--frozen` does not serve their changes. The mark is stored twice: in the store and in the
 * decisions. The mark in the store takes effect immediately. The mark in the decisions still applies after the store
 * was lost. Only the project's own sources are marked, because a mark of a shared root would freeze every project.
 */
export async function settleFreeze(
  { own: sources, shared }: ProjectSources,
  { isFrozen, serves, project }: FreezeOptions,
  { store, decisions }: SkillState,
): Promise<Freeze> {
  const origins = sources.map(({ origin }) => origin)
  const isNoted = (origin: string): boolean => store?.getRef(nameOf(origin)) !== undefined
  const isDecided = (origin: string): boolean => decisions?.find(placeOfSource(origin))?.frozen !== undefined
  const wasFrozen = origins.some(origin => isNoted(origin) || isDecided(origin))
  const settled = { shared: { project, origins: shared.map(({ origin }) => origin), wasFrozen } }
  if (!isFrozen && !serves) return { ...settled, isFrozen: wasFrozen }
  if (!isFrozen)
    for (const origin of origins.filter(isDecided))
      await decisions?.record(placeOfSource(origin), { kind: 'thaw', by: 'dev or mcp', at: Date.now() })
  if (store === undefined) return { ...settled, isFrozen }
  // The mark is the digest of an empty file. A reference to this digest protects no other file of the store from
  // garbage collection.
  const mark = isFrozen ? digestOf(new Uint8Array(), nodeHasher) : undefined
  for (const origin of origins) if (isNoted(origin) !== isFrozen) store.setRef(nameOf(origin), mark)
  // Writes the mark before any skill is served, so that other processes see it. If the write fails, the store sets
  // `fault` and retries.
  await store.flush().catch(() => undefined)
  return { ...settled, isFrozen }
}

function nameOf(origin: string): string {
  return JSON.stringify(['frozen', origin])
}
