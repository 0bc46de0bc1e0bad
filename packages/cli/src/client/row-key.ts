import type { SkillRow } from './api-types.ts'

/** Returns the key of a folder's row. Events that list removed rows have the fields for it too. */
export function keyOfRow({ source, location }: Pick<SkillRow, 'source' | 'location'>): string {
  return `${source}\0${location}`
}
