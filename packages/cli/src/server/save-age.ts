import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { RegistryUpdate, Skill, SkillChange, SkillReport } from '@skillstoke/core'

/**
 * Maximum time between the save of a file and the update. An older modification time is not the time of the save that
 * caused the update.
 */
const MAX_AGE_MS = 60_000

/** A folder that somebody writes changes at most this long after its SKILL.md. */
const MOVE_MS = 2_000

const seenTimes = new WeakMap<RegistryUpdate, number>()

/** Returns the wall time at which this function was first called for the update. */
export function timeOfUpdate(update: RegistryUpdate): number {
  const seenAt = seenTimes.get(update)
  if (seenAt !== undefined) return seenAt
  const now = Date.now()
  seenTimes.set(update, now)
  return now
}

/**
 * Returns how many milliseconds before the update the newest changed file was saved. Returns `undefined` if the files
 * do not show the time of the change, for example after a rename, a removal, or an approval.
 */
export function ageOfChange(change: SkillChange, update: RegistryUpdate): number | undefined {
  if (change.kind === 'removed') return undefined
  const before = change.kind === 'modified' ? change.oldSkill : undefined
  const after = change.kind === 'modified' ? change.newSkill : change.skill
  if (textsBefore(update).has(textOf(after)) || wasMoved(change)) return undefined
  const known = new Map(before?.files.map(file => [file.path, file.digest]))
  return youngest(
    after.files.filter(file => known.get(file.path) !== file.digest).map(file => file.path),
    after,
    timeOfUpdate(update),
  )
}

/** True if a new folder was moved to its place: a move changes the time of the folder, and not of its files. */
function wasMoved(change: SkillChange): boolean {
  if (change.kind !== 'added' || change.skill.directory === undefined) return false
  try {
    const { directory, skillFile } = change.skill
    return statSync(directory).ctimeMs - statSync(join(directory, skillFile)).mtimeMs > MOVE_MS
  } catch {
    return false
  }
}

const knownTexts = new WeakMap<RegistryUpdate, ReadonlySet<string>>()

/** Returns the revision that was the newest in each folder before an update, even if that revision was not served. */
function textsBefore(update: RegistryUpdate): ReadonlySet<string> {
  const found = knownTexts.get(update) ?? new Set(update.previous.reports().map(textOf))
  knownTexts.set(update, found)
  return found
}

function textOf({
  source,
  location,
  revision,
}: Pick<SkillReport, 'source' | 'location' | 'revision'>): string {
  return JSON.stringify([source, location, revision])
}

/** Returns how many milliseconds ago the broken SKILL.md of a folder was saved. */
export function ageOfReport({ directory }: SkillReport, now: number): number | undefined {
  return youngest(['SKILL.md', 'skill.md'], { directory }, now)
}

function youngest(
  paths: readonly string[],
  { directory }: { readonly directory?: Skill['directory'] | undefined },
  now: number,
): number | undefined {
  if (directory === undefined) return undefined
  const ages = paths.flatMap(path => {
    const savedAt = timeOf(join(directory, path))
    return savedAt === undefined ? [] : Math.max(0, Math.round(now - savedAt))
  })
  const age = Math.min(...ages)
  return age < MAX_AGE_MS ? age : undefined
}

/** Returns the time of the last save of a file. Returns `undefined` if the file is missing or unreadable. */
function timeOf(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs
  } catch {
    return undefined
  }
}
