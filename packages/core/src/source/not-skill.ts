import type { KnownOptions } from '../options.ts'

/** Why something that lies in a source is not a skill. */
export const NOT_SKILL_REASONS = [
  /** The folder has no SKILL.md, but a file with nearly that name. */
  'misnamed',
  /** The folder has no SKILL.md. */
  'no-skill-file',
  /** The folder holds skills and is none itself. */
  'category',
  /** The layout skips names like this one. */
  'skipped',
  /** It is deeper than skills are looked for. */
  'too-deep',
  /** A .skillignore names it. */
  'ignored',
  /** It is a file, and a skill is a folder. */
  'file',
  /** It is a link that is not followed. */
  'link',
] as const

export type NotSkillReason = (typeof NOT_SKILL_REASONS)[number]

/** A file or folder in a source that is not a skill. */
export interface NotSkill {
  /** Label of the source. */
  readonly source: string
  /** Path within the source. */
  readonly location: string
  /** The path as people see it. */
  readonly path: string
  readonly reason: NotSkillReason
  /** What is wrong, as the second half of a sentence that starts with the path. */
  readonly message: string
  /** The way to make it a skill. */
  readonly fix: string
  /** Whether a person would expect a skill here; false for `node_modules`, for example. */
  readonly isExpected: boolean
  /** The name in its text; absent if there is no text that can be read, or if names were not asked for. */
  readonly skillName?: string
}

/** What was found on one look. */
export interface NotSkills {
  /** Sorted by location. */
  readonly found: readonly NotSkill[]
  /** False if there were too many folders to look at all of them. */
  readonly isComplete: boolean
}

export interface NotSkillQuery {
  /** Whether texts are read for the names in them. @default false */
  readonly withNames?: boolean
  /** A path within the source that has to be explained if anything is there, expected or not. */
  readonly location?: string
  readonly signal?: AbortSignal
}

export const KNOWN_QUERY: KnownOptions<NotSkillQuery> = { withNames: true, location: true, signal: true }
