import { SkillError } from '../errors.ts'
import { quoteAll } from '../quote.ts'
import { describeUnknownSkill } from '../skill/near-names.ts'
import type { SourceReport } from './generation.ts'

/** Creates the error for a name that no visible skill has. `available` are the visible names. */
export function createSkillNotFound(
  name: string,
  available: readonly string[],
  sources: readonly SourceReport[],
): SkillError {
  const message = `${describeUnknownSkill(name, available)}${describeUnread(sources)}`
  return new SkillError('SKILL_NOT_FOUND', message, { data: { name, available } })
}

/**
 * Returns `label: reason` for each source that could not be read, because a missing skill may be in such a source.
 */
export function findUnread(sources: readonly SourceReport[]): readonly string[] {
  return sources.flatMap(({ label, diagnostics }) =>
    diagnostics.flatMap(({ code, message }) => (code === 'SOURCE_FAILED' ? `${label}: ${message}` : [])),
  )
}

/**
 * Returns the end of a message about a missing skill. The text lists the sources that could not be read, and is empty
 * if all sources were read.
 */
export function describeUnread(sources: readonly SourceReport[]): string {
  const unread = sources.filter(({ diagnostics }) => diagnostics.some(({ code }) => code === 'SOURCE_FAILED'))
  const names = quoteAll(unread.map(({ label }) => label))
  if (unread.length === 0) return ''
  return unread.length === 1
    ? `; the source ${names} could not be read, so the skill may be in it`
    : `; the sources ${names} could not be read, so the skill may be in one of them`
}
