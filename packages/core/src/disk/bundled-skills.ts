import { fileURLToPath } from 'node:url'
import type { SkillSource } from '../source-entry.ts'
import { directory } from './directory.ts'

/**
 * Returns the skills that come with this package. `creating-skills` teaches an agent to write more skills with
 * `write_skill_file`. List this source last, so that skills of the user have precedence.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { bundledSkills, directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills'), bundledSkills()] })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'creating-skills', 'support-pdf' ]
 * ```
 */
export function bundledSkills(): SkillSource {
  const folder = fileURLToPath(new URL('skills', import.meta.resolve('@skillstoke/core/package.json')))
  return directory(folder, { label: 'bundled', watching: 'off' })
}
