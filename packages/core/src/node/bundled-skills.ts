import { fileURLToPath } from 'node:url'
import type { SkillSource } from '../source-entry.ts'
import { directory } from './directory.ts'

/**
 * The skills that come with this package: `creating-skills` teaches an agent to write more with `write_skill_file`. To be
 * put last in order, so that the user's own come first.
 */
export function bundledSkills(): SkillSource {
  const folder = fileURLToPath(new URL('skills', import.meta.resolve('@skillstoke/core/package.json')))
  return directory(folder, { label: 'bundled', watching: 'off' })
}
