import { compareText } from '@skillstoke/core/internal'
import { type DirectoryOptions, nodeHasher } from '@skillstoke/core/node'
import type { ExoSkill } from './exo-skill.ts'
import type { GitHubSourceOptions } from './github-polling-watcher.ts'
import type { Skill } from './skill.ts'
import { SkillRegistry } from './skill-registry.ts'
import { SkillChangeEvent, type SkillChangeKind } from './skill-watcher.ts'

/** The skills that a folder or repository contained at one moment, by name. */
type SkillSnapshot<Any extends ExoSkill = ExoSkill> = ReadonlyMap<string, Any>

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
  const states = [...skills].map(([name, skill]) => [name, stateOf(skill)] as const)
  return digest(states.sort(([a], [b]) => compareText(a, b)))
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
  const kindOf = (name: string): SkillChangeKind | undefined => {
    const [old, now] = [before.get(name), after.get(name)]
    if (old === undefined || now === undefined) return old === undefined ? 'added' : 'removed'
    return stateOf(old) === stateOf(now) ? undefined : 'modified'
  }
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(compareText)
  return (['added', 'removed', 'modified'] as const).flatMap(kind =>
    names
      .filter(name => kindOf(name) === kind)
      .map(
        skillName =>
          new SkillChangeEvent({ kind, skillName, skill: after.get(skillName) ?? null, sourcePath }),
      ),
  )
}

/**
 * Returns a SHA-256 digest, 64 hexadecimal digits, of all fields of a skill except its path.
 *
 * @example
 * ```ts
 * import { fingerprintSkill, Skill } from '@skillstoke/compat'
 *
 * const skill = new Skill({ name: 'maps', description: 'Finds routes.', path: 'skills/maps/SKILL.md' })
 * const moved = new Skill({ ...skill, path: 'skills/travel/maps/SKILL.md' })
 * console.log(fingerprintSkill(skill) === fingerprintSkill(moved)) // prints true
 * ```
 */
export function fingerprintSkill(skill: ExoSkill): string {
  const { name, description, usage, toolList, skillType, active } = skill
  return digest([name, description, usage, sortKeys(toolList), skillType, active])
}

/** Returns a digest of all fields of a skill, including its path. */
function stateOf(skill: ExoSkill): string {
  return digest([fingerprintSkill(skill), skill.path])
}

/** Returns the SHA-256 digest of a JSON value. */
function digest(value: unknown): string {
  return nodeHasher.sha256(JSON.stringify(value))
}

/** Sorts the keys of all maps, so that their order does not change the digest. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  return Object.entries(value)
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, item]) => [key, sortKeys(item)])
}
