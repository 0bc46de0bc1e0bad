import type { DecidedSkill } from '../history/skill-review.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReport, SkillStatus } from '../registry/skill-report.ts'
import { targetOf } from '../registry/skill-report.ts'
import type { SkillUsage } from '../runtime/skill-uses.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillVisibility } from './visibility.ts'

/**
 * Identifies a generation. `number` has a meaning only within one process. `digest` is equal on all machines that serve
 * the same skills.
 */
export interface GenerationId {
  readonly number: number
  readonly digest: Digest
}

/** Token counts with the o200k vocabulary. For models with another vocabulary, these counts are estimates. */
export interface SkillTokens {
  /** Number of tokens of the entry in the catalog. 0 for a hidden skill. */
  readonly listed: number
  readonly body: number
  /** Whether the numbers are estimated from the sizes of the texts, without a vocabulary. */
  readonly isEstimate: boolean
}

/** The uses of a skill since the process started. */
export interface SkillUseSummary {
  readonly count: number
  /** Wall time of the last use, as an ISO date. */
  readonly lastAt: string
  /** Revision of the last use. */
  readonly revision: Digest
}

/** One skill folder in a source, even if it is not served. */
export interface FolderRow {
  readonly name: string
  readonly description: string
  readonly source: string
  /** Location of the folder. If the folder is on disk, this is an absolute path. */
  readonly location: string
  /** Identifier that names only this folder, for requests and for the command line. */
  readonly target: string
  /** Revision of the newest files in the folder. Null if the skill is broken. */
  readonly revision: Digest | null
  /** Digest of the newest SKILL.md if it is broken and its source knows its digest; otherwise null. */
  readonly refused: Digest | null
  /** The served revision. Null if no revision of this folder is served. */
  readonly serving: Digest | null
  readonly status: SkillStatus
  /** Other folders with the same content, in order of precedence. */
  readonly copies: readonly { readonly source: string; readonly location: string }[]
  readonly diagnostics: readonly Diagnostic<string>[]
  /** Null while the tokens are being counted, and for a skill that is not served. */
  readonly tokens: SkillTokens | null
  /** Uses of the skill in this process. Null if the skill was not used since the process started. */
  readonly usage: SkillUseSummary | null
}

/** One skill folder, and what the model of a new conversation sees of it. */
export interface SkillRow extends FolderRow {
  /** Null for a folder that is not served, and for a skill that is out of scope. */
  readonly visibility: SkillVisibility | null
}

/** A skill after a decision. */
export interface DecidedRow extends FolderRow {
  /** True if the decision was recorded; false if the same decision was already in effect. */
  readonly isNew: boolean
}

export function toGenerationId({ number, digest }: Generation): GenerationId {
  return { number, digest }
}

/** Converts a report to the row that the API and `--json` show. */
export function toRow(report: SkillReport, tokens: SkillTokens | null = null, usage?: SkillUsage): FolderRow {
  const { name, description, source, status, diagnostics, copies = [] } = report
  return {
    name,
    description,
    source,
    location: report.directory ?? report.location,
    target: targetOf(report),
    revision: report.revision ?? null,
    refused: report.refused ?? null,
    serving: report.serving ?? null,
    status,
    copies: copies.map(copy => ({ source: copy.source, location: copy.directory ?? copy.location })),
    diagnostics,
    tokens,
    usage: usage === undefined ? null : toSummary(usage),
  }
}

export function toDecidedRow(report: DecidedSkill): DecidedRow {
  return { ...toRow(report), isNew: report.isNew }
}

function toSummary({ count, lastAt, revision }: SkillUsage): SkillUseSummary {
  return { count, lastAt: new Date(lastAt).toISOString(), revision }
}
