import type { SkillRow } from './api-types.ts'

/**
 * Returns a key for the row of a skill folder. Accepts the entry of a removed row too, because the entry has the same
 * two fields.
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
