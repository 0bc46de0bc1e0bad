import { pathInside } from '../is-inside.ts'
import type { AdmissionRequest, FolderPlace } from '../registry/admission.ts'
import { folderOf } from '../registry/folder-path.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import {
  type AgentWrite,
  type DecidedFolder,
  type DecisionStore,
  isAmong,
  type WrittenFile,
} from './decisions.ts'

export interface HeldWrites {
  /** Texts that were written to the asking folder. */
  readonly own: readonly AgentWrite[]
  /** Texts that were written to other skills. */
  readonly others: readonly AgentWrite[]
  /** Texts that are no longer noted. The revision may contain them. */
  readonly forgotten: readonly AgentWrite[]
}

/** The folder whose revision may contain texts of agents. */
export type AskingFolder = Pick<AdmissionRequest, 'folder' | 'findFolder'> & FolderPlace

/**
 * Finds the texts of agents in a revision that are not approved for this folder. An agent may have written a text to
 * this folder, or to another skill whose folder contains this folder or lies in it. An approval of the other skill
 * does not approve the text for this folder. The paths of the result are relative to this folder.
 */
export function findHeldWrites(skill: Skill, asking: AskingFolder, decisions: DecisionStore): HeldWrites {
  const decided = decisions.find(asking)
  const own: AgentWrite[] = []
  const others: AgentWrite[] = []
  const forgotten: AgentWrite[] = decided?.forgotten === undefined ? [] : [decided.forgotten]
  // Most folders are decided about while no agent has written anywhere.
  if (decisions.listWritten().length === 0) return { own, others, forgotten }
  const digests = new Map(skill.files.map(({ path, digest }) => [path, digest]))
  const known = new Set(digests.values())
  const settled = decided?.settled ?? []
  for (const [place, other] of decisions.listWritten()) {
    const isOwn = place.origin === asking.origin && place.location === asking.location
    const lost = isOwn ? undefined : (other.forgotten ?? other.approvedForgotten)
    if (lost !== undefined && !isAmong(lost, settled) && mayShare(place, asking)) forgotten.push(lost)
    for (const write of isOwn ? other.writes : [...other.writes, ...other.approvedWrites]) {
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

/**
 * Finds the texts of agents in a revision that were written to a former folder. The asking folder may be that folder
 * under its new path, a folder in it, or the folder around it. For the folder around it, also finds the texts that are
 * approved for the former folder only.
 */
export function findMovedWrites(skill: Skill, [{ location }, former]: DecidedFolder): readonly AgentWrite[] {
  const find = (write: AgentWrite, isApproved: boolean): readonly AgentWrite[] => {
    const whole = location === write.path ? write.path : `${location}/${write.path}`
    const isMoved = ({ path, digest }: WrittenFile): boolean =>
      digest === write.digest && `/${whole}`.endsWith(`/${path}`) && !(isApproved && path === write.path)
    const file = skill.files.find(isMoved)
    return file === undefined ? [] : [{ ...write, path: file.path }]
  }
  return [
    ...former.writes.flatMap(write => find(write, false)),
    ...former.approvedWrites.flatMap(write => find(write, true)),
  ]
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
