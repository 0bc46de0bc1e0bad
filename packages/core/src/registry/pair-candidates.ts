import { compareText } from '../skill/compare.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { Candidate } from './candidate.ts'

/** An entry that the registry has not decided about yet. */
export interface FreshEntry {
  readonly entry: SourceEntry
  /** The candidate that the folder had so far. */
  readonly old: Candidate | undefined
  /** The candidate of the same folder under the path that it had before. */
  readonly moved?: Candidate
}

/** Folders to decide about, and those that are gone. */
export interface PairedEntries {
  readonly fresh: readonly FreshEntry[]
  readonly removed: readonly Candidate[]
}

/**
 * What differs between the candidates so far and new contents. `candidates` and `before` have the same order; both
 * contents are sorted by location, and what they have in common at both ends is skipped without looking at it.
 */
export function pairWithCandidates(
  candidates: readonly Candidate[],
  before: readonly SourceEntry[],
  entries: readonly SourceEntry[],
): PairedEntries {
  let start = 0
  while (start < before.length && before[start] === entries[start]) start++
  let oldEnd = before.length
  let end = entries.length
  while (oldEnd > start && end > start && before[oldEnd - 1] === entries[end - 1]) {
    oldEnd--
    end--
  }
  const fresh: FreshEntry[] = []
  const removed: Candidate[] = []
  let i = start
  for (const entry of entries.slice(start, end)) {
    while (i < oldEnd && compareText((before[i] as SourceEntry).location, entry.location) < 0) {
      removed.push(candidates[i++] as Candidate)
    }
    const old = i < oldEnd && before[i]?.location === entry.location ? candidates[i++] : undefined
    if (old?.entry !== entry) fresh.push({ entry, old })
  }
  removed.push(...candidates.slice(i, oldEnd))
  return { fresh: withMoved(fresh, removed), removed }
}

function withMoved(fresh: readonly FreshEntry[], removed: readonly Candidate[]): readonly FreshEntry[] {
  if (removed.length === 0) return fresh
  const byIdentity = new Map(
    removed.flatMap(candidate =>
      candidate.entry.identity === undefined ? [] : [[candidate.entry.identity, candidate] as const],
    ),
  )
  return fresh.map(each => {
    const moved = each.old === undefined ? byIdentity.get(each.entry.identity ?? '') : undefined
    return moved === undefined ? each : { ...each, moved }
  })
}
