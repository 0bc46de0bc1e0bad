import type { SkillRow } from './api-types.ts'

/**
 * Returns the key of a folder's row. Events that list removed rows have the fields for it too.
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
