import { basename, dirname } from 'node:path'
import type { TokenCounter } from '@skillstoke/core'
import { countEntry, DEFAULT_CATALOG } from '@skillstoke/core/internal'
import { captureSkill, MemorySkillStore, portableHasher } from '@skillstoke/core/source'
import type { SkillToCheck } from './checked-skill.ts'

/**
 * Counts the tokens of a SKILL.md in the catalog of a new conversation. Returns `undefined` for a text that cannot be served.
 *
 * @example
 * ```ts
 * import { countTextEntry } from '@skillstoke/author/internal'
 *
 * const bytes = new TextEncoder().encode('---\nname: pdf\ndescription: Fills in forms.\n---\n')
 * console.log(countTextEntry({ path: '/skills/pdf/SKILL.md', bytes }, text => text.length)) // prints 77
 * ```
 */
export function countTextEntry(
  { path, bytes }: Pick<SkillToCheck, 'path' | 'bytes'>,
  countTokens: TokenCounter,
): number | undefined {
  const directory = dirname(path)
  const place = { source: 'text', location: basename(directory), directory }
  const context = { store: new MemorySkillStore(), hasher: portableHasher }
  const { skill } = captureSkill({ ...place, files: { 'SKILL.md': bytes } }, context)
  return skill && countEntry(skill, DEFAULT_CATALOG.format, countTokens)
}
