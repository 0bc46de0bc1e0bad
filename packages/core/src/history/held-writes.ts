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
  { folder, findFolder }: AskingFolder,
  digests: FileDigests,
): string | undefined {
  const { path, digest } = write
  const { path: now } = findFolder(place) ?? folderOf(place)
  const folders = new Set([now, write.folder ?? now])
  for (const other of folders) {
    // A single-file skill is its own folder.
    const within = pathInside(folder.path, place.location === path ? other : `${other}/${path}`)
    if (within !== undefined && digests.get(within) === digest) return within
  }
  // A link may lead to the written file, and only its bytes show it.
  return folder.hasLinks ? [...digests].find(([, each]) => each === digest)?.[0] : undefined
}
