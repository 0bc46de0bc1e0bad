import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { RegistryUpdate, Skill, SkillChange, SkillReport } from '@skillstoke/core'

/** Older than this, and a file's time says nothing about the change at hand. */
const MAX_AGE_MS = 60_000

const seenTimes = new WeakMap<RegistryUpdate, number>()

/** The wall time at which an update was seen first; the same for everybody who tells of it. */
export function timeOfUpdate(update: RegistryUpdate): number {
  const seenAt = seenTimes.get(update)
  if (seenAt !== undefined) return seenAt
  const now = Date.now()
  seenTimes.set(update, now)
  return now
}

/**
 * Milliseconds from the newest save among the files that a change is about until the update was seen; `undefined` when their times
 * cannot tell, because nothing was written (a rename, a removal), a person has decided about a text that was known, or they were set
 * by hand.
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

/** The newest texts of all folders before an update, served or not. */
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

/** The same for a folder whose newest text was refused. */
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

/** `undefined` for what is not there or may not be looked at: its age is unknown, and that is all. */
function timeOf(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs
  } catch {
    return undefined
  }
}
