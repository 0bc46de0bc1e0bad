import { SkillError } from '../errors.ts'
import { binarySearch, compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import { describeUnknownSkill } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'

/** The values of `SkillStatus`. */
export const SKILL_STATUSES = [
  'ok',
  'warning',
  'broken',
  'pending',
  'rejected',
  'pinned',
  'shadowed',
  'disabled',
] as const

/**
 * What became of the newest text of a skill. `ok` and `warning` are live. `pending` waits for approval, `rejected` was
 * looked at and is not wanted, `pinned` is or is newer than the revision that was chosen, `disabled` is not served at all.
 */
export type SkillStatus = (typeof SKILL_STATUSES)[number]

/** One folder that was found, served or not: nothing disappears. */
export interface SkillReport {
  readonly name: string
  readonly description: string
  readonly source: string
  readonly location: string
  readonly directory?: string
  /** Revision of the newest text; absent when it is broken. */
  readonly revision?: Digest
  /** The revision that readers get for this folder; absent when they get none. */
  readonly serving?: Digest
  readonly status: SkillStatus
  /** Where else the same revision is, in order of precedence; absent when it is nowhere else. */
  readonly copies?: readonly SkillCopy[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Another folder with the same name and the same files. */
export interface SkillCopy {
  readonly source: string
  readonly location: string
  readonly directory?: string
}

/** A source as a generation knows it. */
export interface SourceReport {
  readonly label: string
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Everything that exists at one moment: immutable, and the only thing that readers look at.
 * The number counts visible changes of this process; the digest is equal on every machine that serves the same.
 */
export interface Generation {
  readonly number: number
  /** Covers name, source label and revision of each served skill; diagnostics are not part of it. */
  readonly digest: Digest
  /** The served skills, sorted bytewise by name. */
  list(): readonly Skill[]
  /**
   * The served skill of exactly this name, or `undefined`. `source/name` finds that of one source, also when another one
   * comes first.
   */
  find(name: string): Skill | undefined
  /** @throws {SkillError} SKILL_NOT_FOUND; `data.available` lists the names */
  get(name: string): Skill
  /** Every folder found, broken and shadowed ones included, sorted by name and then by precedence. */
  reports(): readonly SkillReport[]
  sources(): readonly SourceReport[]
  /**
   * The same as one conversation sees it: with what it wrote itself and nobody has approved yet. The same object when there
   * is nothing of the kind; else one of the same number and digest, for others are served nothing new.
   */
  forConversation(id: string): Generation
}

export interface GenerationParts {
  readonly number: number
  readonly digest: Digest
  readonly skills: readonly Skill[]
  /** Called at most once, from immutable inputs, when somebody asks. */
  readonly createReports: () => readonly SkillReport[]
  readonly sources: readonly SourceReport[]
  /** What a conversation wrote and others are not served. */
  readonly findWritten: (conversation: string) => readonly Skill[]
  /** What a source would serve under a name. */
  readonly findIn: (source: string, name: string) => Skill | undefined
}

export function createGeneration(parts: GenerationParts): Generation {
  const { number, digest, skills, sources } = parts
  let reports: readonly SkillReport[] | undefined
  const find = (name: string): Skill | undefined => {
    const index = binarySearch(skills, name, skill => skill.name)
    if (index >= 0) return skills[index]
    const slash = name.lastIndexOf('/')
    return slash < 0 ? undefined : parts.findIn(name.slice(0, slash), name.slice(slash + 1))
  }
  const views = new Map<string, Generation>()
  const createView = (conversation: string): Generation | undefined => {
    const written = parts.findWritten(conversation)
    if (written.length === 0) return undefined
    const overlaid = new Map([...skills, ...written].map(skill => [skill.name, skill]))
    const list = [...overlaid.values()].sort((a, b) => compareText(a.name, b.name))
    return createGeneration({ ...parts, skills: Object.freeze(list), findWritten: () => [] })
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
      throw new SkillError('SKILL_NOT_FOUND', describeUnknownSkill(name, available), {
        data: { name, available },
      })
    },
    reports: () => (reports ??= Object.freeze(parts.createReports())),
    sources: () => sources,
    forConversation(id: string): Generation {
      const view = views.get(id) ?? createView(id)
      if (view !== undefined) views.set(id, view)
      return view ?? generation
    },
  })
  return generation
}

/** What names exactly one folder of one source, whatever its skill is called. */
export function targetOf({
  source,
  name,
  location,
}: Pick<SkillReport, 'source' | 'name' | 'location'>): string {
  return `${source}/${location === '' ? name : location}`
}
