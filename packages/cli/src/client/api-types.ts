import type {
  Diagnostic,
  Digest,
  SkillChange,
  SkillCommand,
  SkillExplanation,
  SkillFacet,
  SkillStatus,
  SourceStatus,
} from '@skillstoke/core'
import type {
  CommandProgress,
  NotSkills,
  RevisionRecord,
  ScriptContainment,
  ScriptLine,
} from '@skillstoke/core/source'
import type { RollbackOutcome, SourceReport } from '@skillstoke/core/types'
import type { DecisionVerb, GrantVerb } from './decision-verbs.ts'

/** A generation by its number in this process and its digest, which is the same everywhere. */
export interface GenerationId {
  readonly number: number
  readonly digest: Digest
}

/** `GET /api/generation` */
export interface ServerStatus {
  /** Made anew at each start of the server; the first part of every event id. */
  readonly startId: string
  readonly pid: number
  readonly version: string
  readonly generation: GenerationId
  /** How many skills there are of each status. */
  readonly counts: Readonly<Record<SkillStatus, number>>
  readonly sources: readonly SourceState[]
  readonly stateDirectory: string
}

/** One root: where it is, how it is watched, and what is to be said of it. */
export interface SourceState extends SourceStatus {
  /** As it was named. */
  readonly path: string
  /** Skills found in it. */
  readonly skills: number
  readonly diagnostics: readonly Diagnostic[]
}

/** Tokens by the o200k vocabulary; an estimate for other models. */
export interface SkillTokens {
  /** Name and description, as the catalog lists them. */
  readonly listed: number
  readonly body: number
}

/** One folder that was found, served or not. */
export interface SkillRow {
  readonly name: string
  readonly description: string
  readonly source: string
  /** The folder, absolute where it is on a disk. */
  readonly location: string
  /** What names exactly this folder in requests and on the command line. */
  readonly target: string
  /** Revision of the newest text; null when it is broken. */
  readonly revision: Digest | null
  /** The revision that readers get; null when they get none. */
  readonly serving: Digest | null
  readonly status: SkillStatus
  /** Where else the same revision is, in order of precedence. */
  readonly copies: readonly { readonly source: string; readonly location: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** Null for what is not served, and until it has been counted. */
  readonly tokens: SkillTokens | null
}

/** `GET /api/skills`: every folder found, sorted by name and then by precedence. */
export interface SkillList {
  readonly generation: GenerationId
  readonly skills: readonly SkillRow[]
  readonly sources: readonly SourceReport[]
}

/** `GET /api/not-skills`: what lies in the sources and is not a skill, as a look at them finds it. */
export type NotSkillList = NotSkills

export interface FileInfo {
  readonly path: string
  readonly digest: Digest
  /** In bytes. */
  readonly size: number
}

/** `GET /api/skills/:name` */
export interface SkillDetail {
  readonly generation: GenerationId
  /** All folders of the name; the one that is meant comes first, by its name alone the one that is served. */
  readonly skills: readonly SkillRow[]
  /**
   * The revision that the next three are of: what is served, or, of a folder that was named by its source and is not served, its newest.
   * Null when there is none.
   */
  readonly revision: Digest | null
  /** Empty when there is none. */
  readonly files: readonly FileInfo[]
  /** Its SKILL.md; null when there is none. */
  readonly text: string | null
  /** Its instructions without the frontmatter. */
  readonly body: string | null
  /** The text on the disk when it was refused; the diagnostics are about its lines. */
  readonly refusedText: string | null
  /** Where the skill stopped on its way to a conversation. */
  readonly explanation: SkillExplanation
}

/** `GET /api/skills/:name/diff` */
export interface SkillDiff {
  /**
   * Between what is served and what was refused, or what waits for a decision; else what the last change since the start made
   * of it.
   */
  readonly kind: 'refused' | 'waiting' | 'changed' | 'none'
  /** The newer revision; null when it is broken, or there is no difference. */
  readonly to: Digest | null
  /** Unified diff; empty when there is none. */
  readonly text: string
  /** What the newer revision may do that the older one could not. */
  readonly newCapabilities: readonly string[]
}

export type { DecisionVerb, GrantVerb } from './decision-verbs.ts'

/** `POST /api/decide` */
export interface DecideRequest {
  readonly verb: DecisionVerb
  /** Name of the skill, or `source/name`. */
  readonly skill: string
  /** The whole digest of the revision that was looked at; refused when there is another one by now. Needed by `approve`,
   * `reject` and `pin`. */
  readonly revision?: string
  readonly note?: string
  /** Whether characters that show nothing were looked at, and are meant; without it such a revision is refused with HIDDEN_TEXT. */
  readonly confirmHidden?: boolean
}

/** `POST /api/grant` */
export interface GrantRequest {
  readonly verb: GrantVerb
  /** Name of the skill, or `source/name`. */
  readonly skill: string
  readonly capabilities: readonly string[]
  /** The whole digest of the revision that was looked at; refused when there is another one by now. `grant` needs it. */
  readonly revision?: string
}

/** `GET /api/skills/:name/scripts` */
export interface SkillScriptsInfo {
  /** Of the code that serves; null when none does. */
  readonly revision: Digest | null
  readonly commands: readonly SkillCommand[]
  /** Files below `scripts/` that are no part of the commands. */
  readonly scripts: readonly string[]
  /** What the scripts may do beyond computing, what they ask for, and what of it nobody has granted. */
  readonly granted: readonly string[]
  readonly asked: readonly string[]
  readonly missing: readonly string[]
  /** What is wrong with the newest code. */
  readonly problems: readonly Diagnostic[]
  /** What keeps scripts from the rest of the machine. */
  readonly containment: ScriptContainment
}

/** `POST /api/run` */
export type RunRequest =
  | { readonly skill: string; readonly command: string; readonly input: unknown }
  | { readonly skill: string; readonly path: string; readonly args: readonly string[] }

/** What `POST /api/run` answers, a line for each; the last one is the result or the failure. */
export type RunEvent =
  | ({ readonly kind: 'progress' } & CommandProgress)
  | ({ readonly kind: 'line' } & ScriptLine)
  | {
      readonly kind: 'result'
      readonly text: string
      /** Of a script that is no command; null when a signal ended it. */
      readonly exitCode?: number | null
      readonly revision: Digest
      readonly durationMs: number
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly durationMs: number }

/** `POST /api/rollback` */
export interface RollbackResult {
  readonly skill: string
  readonly from?: Digest | undefined
  readonly to: Digest
  /** Whether the old files were written, or the old revision was pinned, or nothing was to be done. */
  readonly how: RollbackOutcome['how']
}

/** `GET /api/skills/:name/history` */
export interface SkillHistory {
  /** Newest first. */
  readonly records: readonly RevisionRecord[]
}

/** `GET /api/skills/:name/file?path=` */
export interface FileText extends FileInfo {
  readonly revision: Digest
  /** Null when it is not UTF-8 text. */
  readonly text: string | null
}

/** One model call: digests of requests and their parts, as eight digits. */
export interface ModelCall {
  readonly step: number
  /** Of the whole request. */
  readonly prefix: string
  /** Of the last request; null for the first call. */
  readonly last: string | null
  /** Of the part of this request that was sent with the last one; null when it is not there. */
  readonly sentBefore: string | null
  readonly isUnchanged: boolean
}

export interface Told {
  readonly text: string
  readonly tokens: number
}

export interface Turn {
  readonly turn: number
  readonly question: string
  /** What the conversation was told of changes in this turn. */
  readonly told: readonly Told[]
  readonly calls: readonly ModelCall[]
  /** Its beginning when it is long; null until the turn is over. */
  readonly answer: string | null
  /** Why the turn failed; null when it did not. */
  readonly failure: string | null
}

/** One conversation and what it knows. */
export interface SessionInfo {
  readonly id: string
  /** What the conversation was told last. */
  readonly generation: GenerationId
  readonly catalog: { readonly tokens: number; readonly listed: number; readonly omitted: number }
  readonly loaded: readonly {
    readonly name: string
    readonly revision: Digest
    readonly isCurrent: boolean
  }[]
  /** What it will be told before its next model call; null when there is nothing. */
  readonly pending: Told | null
  /** The last ones; empty for conversations whose model calls are made elsewhere, such as those of MCP clients. */
  readonly turns: readonly Turn[]
}

/** `GET /api/sessions` */
export interface SessionList {
  readonly generation: GenerationId
  readonly sessions: readonly (SessionInfo & {
    /** The exact catalog that the conversation was given. */
    readonly catalogText: string
  })[]
}

export interface TimelineChange {
  readonly kind: SkillChange['kind']
  readonly name: string
  /** Revisions before and after. */
  readonly from: Digest | null
  readonly to: Digest | null
  readonly facets: readonly SkillFacet[]
}

export interface TimelineProblem {
  readonly name: string
  readonly status: SkillStatus
  readonly serving: Digest | null
  /** The first diagnostic that says why. */
  readonly message: string
  readonly place: string
}

/** One step from a generation to the next. */
export interface TimelineEntry {
  readonly at: string
  readonly generation: GenerationId
  /** Whether what is served is another one. */
  readonly isDigestChanged: boolean
  /** From the newest save to the moment when it was visible; null when it cannot be told. */
  readonly detectedMs: number | null
  readonly changes: readonly TimelineChange[]
  readonly problems: readonly TimelineProblem[]
  /** Skills that had a problem and no longer do, without a change of what is served. */
  readonly fixed: readonly string[]
  /** How many more there were of these three, when they were too many to tell. */
  readonly omitted: number
}

/** `POST /api/reload` */
export interface ReloadResult {
  readonly previous: GenerationId
  readonly generation: GenerationId
  readonly changes: readonly TimelineChange[]
  /** Every skill that is not as it should be after the reload. */
  readonly problems: readonly TimelineProblem[]
  /** What is to be said of the places themselves, such as that one could not be asked. */
  readonly sources: readonly SourceReport[]
}

/** Everything that is to be known; the first event of a stream. */
export interface StateEvent {
  readonly kind: 'state'
  readonly status: ServerStatus
  readonly skills: readonly SkillRow[]
  readonly sessions: readonly SessionInfo[]
  /** Oldest first. */
  readonly timeline: readonly TimelineEntry[]
}

/** A new generation. */
export interface UpdateEvent {
  readonly kind: 'update'
  readonly status: ServerStatus
  /** Folders that are new or other than before. */
  readonly skills: readonly SkillRow[]
  /** Folders that are gone. */
  readonly gone: readonly { readonly source: string; readonly location: string }[]
  readonly entry: TimelineEntry
}

/** Tokens have been counted. */
export interface TokensEvent {
  readonly kind: 'tokens'
  readonly skills: readonly SkillRow[]
}

/** Conversations began, ended, or went on. */
export interface SessionsEvent {
  readonly kind: 'sessions'
  readonly sessions: readonly SessionInfo[]
}

/** Commands of a skill came, went, or are described in another way. */
export interface CommandsEvent {
  readonly kind: 'commands'
  readonly skill: string
}

/** What `GET /api/events` sends. */
export type ServerEvent = StateEvent | UpdateEvent | TokensEvent | SessionsEvent | CommandsEvent

/** `POST /api/login` */
export interface LoginResult {
  /** To be sent with the cookie, as the header `KEY_HEADER`. */
  readonly key: string
}

export const KEY_HEADER = 'x-skillstoke-key'

/** Every answer that is not 2xx. */
export interface ApiFailure {
  readonly error: { readonly code: ApiErrorCode; readonly message: string }
}

export type ApiErrorCode =
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'TOO_MANY'
  | 'INVALID_REQUEST'
  | 'CONFLICT'
  | 'HIDDEN_TEXT'
  | 'FAILED'
