import type { SkillRow } from './api-types.ts'

/** Returns what identifies the row of a folder, also in an event that lists rows which are gone. */
export function keyOfRow({ source, location }: Pick<SkillRow, 'source' | 'location'>): string {
  return `${source}\0${location}`
}
