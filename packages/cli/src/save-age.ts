import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { RegistryUpdate, Skill, SkillChange, SkillReport } from '@skillstoke/core'

/** Maximum age of a save. An older file time does not belong to the present change. */
const MAX_AGE_MS = 60_000

const seenTimes = new WeakMap<RegistryUpdate, number>()

/** Returns the wall time at which this function was first called for an update. */
export function timeOfUpdate(update: RegistryUpdate): number {
  const seenAt = seenTimes.get(update)
  if (seenAt !== undefined) return seenAt
  const now = Date.now()
  seenTimes.set(update, now)
  return now
}

/**
 * Returns the milliseconds from the newest save of a changed file until the update was seen. Returns `undefined` if no
 * file time shows the save, for example after a rename, a removal, or a decision about a known revision.
 */
export function ageOfChange(change: SkillChange, update: RegistryUpdate): number | undefined {
  if (change.kind === 'removed') return undefined
  const before = change.kind === 'modified' ? change.oldSkill : undefined
  const after = change.kind === 'modified' ? change.newSkill : change.skill
  if (textsBefore(update).has(textOf(after))) return undefined
  const known = new Map(before?.files.map(file => [file.path, file.digest]))
  return youngest(
    after.files.filter(file => known.get(file.path) !== file.digest).map(file => file.path),
    after,
    timeOfUpdate(update),
  )
}

const knownTexts = new WeakMap<RegistryUpdate, ReadonlySet<string>>()

/** Returns the newest revision that each folder had before an update, served or not. */
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

/** Returns the age of the newest save of a folder whose text was rejected. */
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
