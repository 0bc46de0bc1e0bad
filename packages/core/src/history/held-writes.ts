import type { AdmissionRequest, FolderPlace } from '../registry/admission.ts'
import { folderOf, pathInside } from '../registry/folder-path.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { type AgentWrite, type DecisionStore, isAmong } from './decisions.ts'

export interface HeldWrites {
  /** Texts that were written to the asking folder. */
  readonly own: readonly AgentWrite[]
  /** Texts that were written to other skills. */
  readonly others: readonly AgentWrite[]
  /** A text that is no longer noted. The revision may contain it. */
  readonly forgotten: AgentWrite | undefined
}

/** The folder whose revision may contain texts of agents. */
export type AskingFolder = Pick<AdmissionRequest, 'folder' | 'findFolder'> & FolderPlace

/**
 * Finds the unapproved texts of agents in a revision. An agent may have written a text to this folder, or to another
 * skill whose folder contains this folder or lies in it. The paths of the result are relative to this folder.
 */
export function findHeldWrites(skill: Skill, asking: AskingFolder, decisions: DecisionStore): HeldWrites {
  const forgottenHere = decisions.find(asking)?.forgotten
  // Most folders are decided about while no text of an agent waits anywhere.
  if (decisions.listWritten().length === 0) return { own: [], others: [], forgotten: forgottenHere }
  const digests = new Map(skill.files.map(({ path, digest }) => [path, digest]))
  const known = new Set(digests.values())
  const settled = decisions.find(asking)?.settled ?? []
  const own: AgentWrite[] = []
  const others: AgentWrite[] = []
  let forgotten = forgottenHere
  for (const [place, { writes, forgotten: lost }] of decisions.listWritten()) {
    const isOwn = place.origin === asking.origin && place.location === asking.location
    if (lost !== undefined && mayShare(place, asking)) forgotten ??= lost
    for (const write of writes) {
      if (!known.has(write.digest)) continue
      const path = isOwn ? ownPath(write, digests) : findPath(write, place, asking, digests)
      const found = path === undefined ? undefined : { ...write, path }
      if (found !== undefined && (isOwn || !isAmong(found, settled))) (isOwn ? own : others).push(found)
    }
  }
  return { own, others, forgotten }
}

/**
 * Finds the unapproved texts of agents that were the last ones of files in the live revision, if the asking revision lacks
 * these files. A text can take its own file out of the revision, for example because it is a private key.
 */
export function findRemovedWrites(
  skill: Skill,
  live: Skill | undefined,
  asking: AskingFolder,
  decisions: DecisionStore,
): readonly AgentWrite[] {
  const written = live === undefined ? [] : decisions.listWritten()
  if (live === undefined || written.length === 0) return []
  const kept = new Set(skill.files.map(({ path }) => path))
  const removed = new Set(live.files.flatMap(({ path }) => (kept.has(path) ? [] : path)))
  if (removed.size === 0) return []
  return written.flatMap(([place, { writes }]) =>
    writes.flatMap(write => {
      const path = pathsIn(write, place, asking).find(each => removed.has(each))
      return path === undefined ? [] : { ...write, path }
    }),
  )
}

/** Finds the unapproved texts of agents that were written to another folder with the same layout. */
export function findCopiedWrites(skill: Skill, writes: readonly AgentWrite[]): readonly AgentWrite[] {
  const digests = new Map(skill.files.map(({ path, digest }) => [path, digest]))
  return writes.filter(write => ownPath(write, digests) !== undefined)
}

/** True if a file can be in both folders. */
function mayShare(place: FolderPlace, { folder, findFolder }: AskingFolder): boolean {
  const { path } = findFolder(place) ?? folderOf(place)
  const isNested = pathInside(folder.path, path) !== undefined || pathInside(path, folder.path) !== undefined
  return folder.hasLinks || path === folder.path || isNested
}

type FileDigests = ReadonlyMap<string, Digest>

function ownPath({ path, digest }: AgentWrite, digests: FileDigests): string | undefined {
  return digests.get(path) === digest ? path : undefined
}

/** Returns the path at which a text that was written to another skill lies in the asking folder. */
function findPath(
  write: AgentWrite,
  place: FolderPlace,
  asking: AskingFolder,
  digests: FileDigests,
): string | undefined {
  const { digest } = write
  const found = pathsIn(write, place, asking).find(path => digests.get(path) === digest)
  if (found !== undefined) return found
  // A link may lead to the written file, and only its bytes show it.
  return asking.folder.hasLinks ? [...digests].find(([, each]) => each === digest)?.[0] : undefined
}

/** Returns the paths in the asking folder at which a text that was written to a place can be. */
function pathsIn(
  { path, folder: former }: AgentWrite,
  place: FolderPlace,
  { folder, findFolder, origin, location }: AskingFolder,
): readonly string[] {
  if (place.origin === origin && place.location === location) return [path]
  const { path: now } = findFolder(place) ?? folderOf(place)
  return [...new Set([now, former ?? now])].flatMap(other => {
    // A single-file skill is its own folder.
    return pathInside(folder.path, place.location === path ? other : `${other}/${path}`) ?? []
  })
}
