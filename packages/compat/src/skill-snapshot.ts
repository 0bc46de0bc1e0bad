import { compareText } from '@skillstoke/core/internal'
import type { DirectoryOptions } from '@skillstoke/core/node'
import type { ExoSkill } from './exo-skill.ts'
import type { GitHubSourceOptions } from './github-polling-watcher.ts'
import type { Skill } from './skill.ts'
import { SkillRegistry } from './skill-registry.ts'
import { compareStates, digest, stateOf } from './skill-state.ts'
import { SkillChangeEvent } from './skill-watcher.ts'

/** The skills that a folder or repository contained at one moment, by name. */
export type SkillSnapshot<Any extends ExoSkill = ExoSkill> = ReadonlyMap<string, Any>

/**
 * Reads the skills of a folder or of a GitHub repository one time, without watching them.
 * @throws {SkillError} SOURCE_MISSING; INVALID_OPTION with `Invalid GitHub URL: ...`; IO_FAILED or NOT_FOUND when a
 * repository cannot be read
 *
 * @example
 * ```ts
 * import { collectSkills } from '@skillstoke/compat'
 *
 * const skills = await collectSkills('./skills')
 * console.log(skills.get('support-pdf')?.usage) // prints Instructions of support-pdf.
 * ```
 */
export async function collectSkills(
  pathOrUrl: string,
  options: GitHubSourceOptions & Pick<DirectoryOptions, 'linkRoots'> = {},
): Promise<SkillSnapshot<Skill>> {
  await using registry = new SkillRegistry().registerSource(pathOrUrl, options)
  await registry.loadAll()
  return registry.skills
}

/**
 * Returns a SHA-256 digest, 64 hexadecimal digits, of all skills in a snapshot, including their paths.
 *
 * @example
 * ```ts
 * import { collectSkills, fingerprintSnapshot } from '@skillstoke/compat'
 *
 * const [before, after] = [await collectSkills('./skills'), await collectSkills('./skills')]
 * console.log(fingerprintSnapshot(before) === fingerprintSnapshot(after)) // prints true
 * ```
 */
export function fingerprintSnapshot(skills: SkillSnapshot): string {
  return digest([...statesOf(skills)].sort(([a], [b]) => compareText(a, b)))
}

/**
 * Returns the changes between two snapshots: added, then removed, then modified skills, each sorted by name. A skill that only moved counts as modified.
 * @param sourcePath folder or URL of both snapshots
 *
 * @example
 * ```ts
 * import { collectSkills, diffSnapshots, Skill } from '@skillstoke/compat'
 *
 * const before = await collectSkills('./skills')
 * const after = new Map(before).set('maps', new Skill({ name: 'maps', description: 'Finds routes.' }))
 * const changes = diffSnapshots(before, after, './skills')
 * console.log(changes.map(({ kind, skillName }) => `${kind} ${skillName}`)) // prints [ 'added maps' ]
 * ```
 */
export function diffSnapshots(
  before: SkillSnapshot,
  after: SkillSnapshot,
  sourcePath: string,
): readonly SkillChangeEvent[] {
  const { added, removed, modified } = compareStates(statesOf(before), statesOf(after))
  const toEvent =
    (kind: 'added' | 'removed' | 'modified') =>
    (skillName: string): SkillChangeEvent =>
      new SkillChangeEvent({ kind, skillName, skill: after.get(skillName) ?? null, sourcePath })
  return [
    ...added.map(toEvent('added')),
    ...removed.map(toEvent('removed')),
    ...modified.map(toEvent('modified')),
  ]
}

function statesOf(skills: SkillSnapshot): ReadonlyMap<string, string> {
  return new Map([...skills].map(([name, skill]) => [name, stateOf(skill)]))
}
