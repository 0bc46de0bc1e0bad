import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'

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
 * State of the newest text of a skill. `ok` and `warning`: live. `pending`: waits for approval. `rejected`: a person
 * rejected the newest text. `pinned`: one chosen revision is served, even if the newest revision is a different one.
 * `broken`: cannot be served. `shadowed`: another skill with the same name is served. `disabled`: the skill is not
 * served.
 */
export type SkillStatus = (typeof SKILL_STATUSES)[number]

/** The report about one folder. Folders that are not served also have a report. */
export interface SkillReport {
  readonly name: string
  readonly description: string
  readonly source: string
  readonly location: string
  readonly directory?: string
  /** Revision of the newest text; absent when the text is broken. */
  readonly revision?: Digest
  /** Digest of the newest text if it is broken; absent when the source does not know it. */
  readonly refused?: Digest
  /** The revision that readers get from this folder; absent when the folder is not served. */
  readonly serving?: Digest
  readonly status: SkillStatus
  /** Other folders with the same revision, in order of precedence; absent when there are no such folders. */
  readonly copies?: readonly SkillCopy[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Another folder with the same name and the same files. */
export type SkillCopy = Pick<SkillReport, 'source' | 'location' | 'directory'>

/** Returns a target that identifies exactly one folder, regardless of the name of the skill in the folder. */
export function targetOf({
  source,
  name,
  location,
}: Pick<SkillReport, 'source' | 'name' | 'location'>): string {
  return `${source}/${location === '' ? name : location}`
}
