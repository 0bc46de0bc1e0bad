import type { SkillRow } from './api-types.ts'

/**
 * Returns the key of the row of a folder. Entries for removed rows also have the two fields of the key.
 *
 * @example
 * ```ts
 * import { keyOfRow } from 'skillstoke/client'
 *
 * const row = { source: 'mine', location: '/srv/skills/support-pdf' }
 * console.log(new Map([[keyOfRow(row), row]]).has(keyOfRow({ ...row }))) // prints true
 * ```
 */
export function keyOfRow({ source, location }: Pick<SkillRow, 'source' | 'location'>): string {
  return `${source}\0${location}`
}
