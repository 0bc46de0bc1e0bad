import { compareText } from '../skill/compare.ts'
import type { Digest } from '../skill/digest.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { FolderMove } from './admission.ts'
import type { Candidate } from './candidate.ts'

/** An entry that the registry has not decided about yet. */
export interface FreshEntry {
  readonly entry: SourceEntry
  /** The candidate that had the path so far. */
  readonly old: Candidate | undefined
  /** The candidate of the same folder, under whatever path. */
  readonly former: Candidate | undefined
  /** A revision of it that was approved a moment ago. */
  readonly approved?: Digest
}

/** Folders to decide about, those that are gone, and those that have another path now. */
export interface PairedEntries {
  readonly fresh: readonly FreshEntry[]
  readonly removed: readonly Candidate[]
  readonly moves: readonly MovedFolder[]
}

/** A folder that has another path now. */
export interface MovedFolder extends FolderMove {
  readonly former: Candidate
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
  const fresh: Omit<FreshEntry, 'former'>[] = []
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
  return { ...findFormer(fresh, removed), removed }
}

/**
 * Pairs folders with what they were before. A folder is known by its identity: one that lies elsewhere now has moved, and what is
 * at its old path is another one. Any other folder goes on from what was at its path, such as one that was replaced as a whole.
 */
function findFormer(
  fresh: readonly Omit<FreshEntry, 'former'>[],
  removed: readonly Candidate[],
): Pick<PairedEntries, 'fresh' | 'moves'> {
  const isReplaced = ({ entry, old }: Omit<FreshEntry, 'former'>): boolean =>
    old?.entry.identity !== entry.identity
  const displaced = fresh.flatMap(each => (each.old !== undefined && isReplaced(each) ? each.old : []))
  if (removed.length === 0 && displaced.length === 0)
    return { fresh: fresh.map(({ entry, old }) => ({ entry, old, former: old })), moves: [] }
  const left = new Map([...removed, ...displaced].map(each => [each.entry.identity, each]))
  left.delete(undefined)
  const moved = new Map<Candidate, string>()
  for (const { entry, old } of fresh.filter(isReplaced)) {
    const former = left.get(entry.identity)
    // Two folders with one identity are one that was seen twice while it was moved: the first one counts.
    if (former !== undefined && former !== old && !moved.has(former)) moved.set(former, entry.location)
  }
  const byTarget = new Map(Array.from(moved, ([former, to]) => [to, former]))
  const moves = Array.from(moved, ([former, to]) => ({
    identity: former.entry.identity as string,
    from: former.entry.location,
    to,
    former,
  }))
  const paired = fresh.map(each => {
    const stayed = each.old !== undefined && moved.has(each.old) ? undefined : each.old
    return { ...each, former: byTarget.get(each.entry.location) ?? stayed }
  })
  return { fresh: paired, moves }
}
