import type { KnownOptions } from '../options.ts'

/** Reasons why a file or folder of a source is not a skill. */
export const NOT_SKILL_REASONS = [
  /** The folder has no SKILL.md, but a file with a similar name. */
  'misnamed',
  /** The folder has no SKILL.md. */
  'no-skill-file',
  /** The folder is not a skill, but contains skills. */
  'category',
  /** The layout skips the name of the folder or file. */
  'skipped',
  /** The folder is too deep: the search for skills does not reach its level. */
  'too-deep',
  /** A .skillignore excludes the folder. */
  'ignored',
  /** The entry is a text file in the root, and a skill is a folder. */
  'file',
  /** The entry is a link that is not followed. */
  'link',
] as const

export type NotSkillReason = (typeof NOT_SKILL_REASONS)[number]

/** A file or folder in a source that is not a skill. */
export interface NotSkill {
  /** Label of the source. */
  readonly source: string
  /** Path within the source. */
  readonly location: string
  /** The path as it is shown to people. */
  readonly path: string
  readonly reason: NotSkillReason
  /** The second half of a sentence that starts with the path. */
  readonly message: string
  /** How to make the entry a skill. */
  readonly fix: string
  /** Whether a person would expect a skill here; false for `node_modules`, for example. */
  readonly isExpected: boolean
  /** The name in the skill's text. Absent if the text is unreadable or the query does not ask for names. */
  readonly skillName?: string
}

/** The result of one search. */
export interface NotSkills {
  /** Sorted by location. */
  readonly found: readonly NotSkill[]
  /** False if the search reached its limit before it had searched all folders. */
  readonly isComplete: boolean
}

export interface NotSkillQuery {
  /** Whether the search reads each SKILL.md to find the name of the skill. @default false */
  readonly withNames?: boolean
  readonly signal?: AbortSignal
}

export const KNOWN_QUERY: KnownOptions<NotSkillQuery> = { withNames: true, signal: true }
