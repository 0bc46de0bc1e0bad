import { compareText } from '../skill/compare.ts'
import type { Digest } from '../skill/digest.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { FolderMove } from './admission.ts'
import type { Candidate } from './candidate.ts'

/** A new or changed folder that the registry must decide about. */
export interface FreshEntry {
  readonly entry: SourceEntry
  /** The earlier candidate at the same path. */
  readonly old: Candidate | undefined
  /** The earlier candidate of the same folder, even if the folder was moved to this path. */
  readonly former: Candidate | undefined
  /** A revision of the folder that was just approved. */
  readonly approved?: Digest
}

/** The folders to decide about, the removed folders and the moved folders. */
export interface PairedEntries {
  readonly fresh: readonly FreshEntry[]
  readonly removed: readonly Candidate[]
  readonly moves: readonly MovedFolder[]
}

/** A folder with a new path. */
export interface MovedFolder extends FolderMove {
  /** Absent if the folder was moved while this process did not watch it. */
  readonly former?: Candidate
}

/**
 * Finds the differences between the current candidates and new contents. Both must be sorted by location. Equal entries
 * at the start and at the end are skipped quickly.
 */
export function pairWithCandidates(
  candidates: readonly Candidate[],
  entries: readonly SourceEntry[],
): PairedEntries {
  let start = 0
  while (start < candidates.length && candidates[start]?.entry === entries[start]) start++
  let oldEnd = candidates.length
  let end = entries.length
  while (oldEnd > start && end > start && candidates[oldEnd - 1]?.entry === entries[end - 1]) {
    oldEnd--
    end--
  }
  const fresh: Omit<FreshEntry, 'former'>[] = []
  const removed: Candidate[] = []
  let i = start
  for (const entry of entries.slice(start, end)) {
    while (i < oldEnd && compareText((candidates[i] as Candidate).entry.location, entry.location) < 0) {
      removed.push(candidates[i++] as Candidate)
    }
    const old = i < oldEnd && candidates[i]?.entry.location === entry.location ? candidates[i++] : undefined
    if (old?.entry !== entry) fresh.push({ entry, old })
  }
  removed.push(...candidates.slice(i, oldEnd))
  return { ...findFormer(fresh, removed), removed }
}

/**
 * Pairs folders with their earlier candidates. If the earlier candidate with the same identity has another path, the
 * folder was moved. A folder that is now at the former path of a moved folder is a new folder. Every other folder, for
 * example a replaced folder, is paired with the earlier candidate at the same path.
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
    // If two folders have the same identity, one folder was seen twice during a move. Only the first entry counts.
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
