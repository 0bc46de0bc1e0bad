import { compareText } from '@skillstoke/core/internal'
import type { ExoSkill } from './exo-skill.ts'
import type { GitHubSourceOptions } from './github-polling-watcher.ts'
import type { Skill } from './skill.ts'
import { SkillRegistry } from './skill-registry.ts'
import { compareStates, digest, stateOf } from './skill-state.ts'
import { SkillChangeEvent } from './skill-watcher.ts'

/** The skills of a folder or repository at one time, by name. */
export type SkillSnapshot<Any extends ExoSkill = ExoSkill> = ReadonlyMap<string, Any>

/**
 * Reads the skills below a folder, or in a repository on GitHub, once.
 * @throws {SkillError} SOURCE_MISSING; INVALID_OPTION with `Invalid GitHub URL: ...`; IO_FAILED or NOT_FOUND when a
 * repository cannot be read
 */
export async function collectSkills(
  pathOrUrl: string,
  options: GitHubSourceOptions = {},
): Promise<SkillSnapshot<Skill>> {
  await using registry = new SkillRegistry().registerSource(pathOrUrl, options)
  await registry.loadAll()
  return registry.skills
}

/** Returns a SHA-256 digest, 64 hexadecimal digits, of all skills of a snapshot and their paths. */
export function fingerprintSnapshot(skills: SkillSnapshot): string {
  return digest([...statesOf(skills)].sort(([a], [b]) => compareText(a, b)))
}

/**
 * Returns the changes between two snapshots: added, then removed, then modified skills, each sorted by name. A skill
 * that only moved is modified.
 * @param sourcePath folder or URL of both snapshots
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
