import { binarySearch, compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { type Candidate, type NameGroup, toReports } from './candidate.ts'
import type { DuplicatePolicy } from './duplicate-policy.ts'
import { findGroup, findWritten } from './name-groups.ts'
import { createSkillNotFound } from './skill-not-found.ts'
import type { SkillReport } from './skill-report.ts'

/** The state of a source in one generation. */
export interface SourceReport {
  readonly label: string
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * One immutable state of the registry. Readers see the registry only through generations. The number counts the visible
 * changes of this process. The digest is equal on every machine that serves the same skills.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const generation = skills.current // does not change while you read it
 * console.log(generation.find('support-pdf')?.description) // prints Does what support-pdf does. Use it for all about support-pdf.
 * console.log(generation.find('support-doc')) // prints undefined
 * ```
 */
export interface Generation {
  readonly number: number
  /** Digest of the name, source label and revision of each served skill. Diagnostics do not affect it. */
  readonly digest: Digest
  /** Returns the served skills, sorted bytewise by name. */
  list(): readonly Skill[]
  /**
   * Returns the served skill with exactly this name, or `undefined`. For `source/name`, returns the skill of that
   * source, even if another source has precedence.
   */
  find(name: string): Skill | undefined
  /** Returns the served skill of a name. @throws {SkillError} SKILL_NOT_FOUND; `data.available` lists the names */
  get(name: string): Skill
  /**
   * Returns the reports of all folders, including broken and shadowed ones, sorted by name and then by precedence.
   *
   * @example
   * ```ts
   * import { mkdir, writeFile } from 'node:fs/promises'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await mkdir('skills/maps')
   * await writeFile('skills/maps/SKILL.md', 'This text has no description.')
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * for (const { name, status, diagnostics } of skills.current.reports()) console.log(name, status, diagnostics.length)
   * // prints maps broken 1
   * // prints support-pdf ok 0
   * ```
   */
  reports(): readonly SkillReport[]
  sources(): readonly SourceReport[]
  /**
   * Returns this generation as one conversation sees it, including the unapproved skills that the conversation wrote.
   * If the conversation wrote no unapproved skill, returns this generation itself. The result has the same number and
   * digest as this generation, because other readers see no change.
   */
  forConversation(id: string): Generation
}

export interface GenerationParts {
  readonly number: number
  readonly digest: Digest
  /** The served skills, sorted by name. */
  readonly skills: readonly Skill[]
  /** The folders of all sources by name, sorted by name. */
  readonly groups: readonly NameGroup[]
  readonly sources: readonly SourceReport[]
  readonly policy: DuplicatePolicy
}

export function createGeneration(parts: GenerationParts): Generation {
  const { groups, policy } = parts
  let written: readonly Candidate[] | undefined
  const views = new Map<string, Generation>()
  const createView = (conversation: string): Generation | undefined => {
    written ??= groups.flatMap(group => group.candidates.filter(({ held }) => held?.conversation))
    const own = written.length === 0 ? [] : findWritten(groups, written, policy, conversation)
    if (own.length === 0) return undefined
    const overlaid = new Map([...parts.skills, ...own].map(skill => [skill.name, skill]))
    const skills = [...overlaid.values()].sort((a, b) => compareText(a.name, b.name))
    return createOne({ ...parts, skills: Object.freeze(skills) }, () => undefined)
  }
  return createOne(parts, id => {
    const view = views.get(id) ?? createView(id)
    if (view !== undefined) views.set(id, view)
    return view
  })
}

/** @param findView returns the generation as a conversation sees it, if that conversation wrote an unapproved skill */
function createOne(
  { number, digest, skills, groups, sources }: GenerationParts,
  findView: (conversation: string) => Generation | undefined,
): Generation {
  let reports: readonly SkillReport[] | undefined
  const find = (name: string): Skill | undefined => {
    const index = binarySearch(skills, name, skill => skill.name)
    if (index >= 0) return skills[index]
    const slash = name.lastIndexOf('/')
    if (slash < 0) return undefined
    const own = findGroup(groups, name.slice(slash + 1))?.candidates
    return own?.find(({ source, live }) => source === name.slice(0, slash) && live !== undefined)?.live
  }
  const generation: Generation = Object.freeze({
    number,
    digest,
    list: () => skills,
    find,
    get(name: string): Skill {
      const skill = find(name)
      if (skill !== undefined) return skill
      const available = skills.map(each => each.name)
      throw createSkillNotFound(name, available, sources)
    },
    reports: () => (reports ??= Object.freeze(groups.flatMap(toReports))),
    sources: () => sources,
    forConversation: (id: string) => findView(id) ?? generation,
  })
  return generation
}
