import type { SkillRow } from './api-types.ts'

/**
 * Returns a key for the row of a skill folder. Also accepts the entry of a removed row. The key consists of `source`
 * and `location`.
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
