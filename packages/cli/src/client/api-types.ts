import type { TokenUsage } from '@skillstoke/agent'
import type {
  Diagnostic,
  Digest,
  RollbackOutcome,
  SkillChange,
  SkillCommand,
  SkillExplanation,
  SkillFacet,
  SkillStatus,
  SourceReport,
  SourceStatus,
} from '@skillstoke/core'
import type {
  CommandProgress,
  NotSkills,
  RevisionRecord,
  ScriptContainment,
  ScriptLine,
} from '@skillstoke/core/source'
import type { FleetReport } from '@skillstoke/fleet'
import type { DecisionVerb, GrantVerb } from './decision-verbs.ts'

/**
 * Identifies a generation. `number` has a meaning only within one server process. `digest` is equal on all machines
 * that serve the same skills.
 */
export interface GenerationId {
  readonly number: number
  readonly digest: Digest
}

/** `GET /api/generation` */
export interface ServerStatus {
  /** Random id that the server chooses at each start. Every event id begins with this id. */
  readonly startId: string
  readonly pid: number
  readonly version: string
  readonly generation: GenerationId
  /** Number of skills with each status. */
  readonly counts: Readonly<Record<SkillStatus, number>>
  readonly sources: readonly SourceState[]
  readonly stateDirectory: string
  /** Name of the model that answers in the conversation of the demo agent and in the playground. */
  readonly model: string
}

/** State of one source, for example its path, how it is watched, and its diagnostics. */
export interface SourceState extends SourceStatus {
  /** Path or URL of the source, as the user wrote it. */
  readonly path: string
  /** Number of skills found in the source. */
  readonly skills: number
  readonly diagnostics: readonly Diagnostic[]
}

/** Token counts with the o200k vocabulary. For models with another vocabulary, these counts are estimates. */
export interface SkillTokens {
  /** Number of tokens of the name and the description. */
  readonly listed: number
  readonly body: number
}

/** One skill folder in a source, even if it is not served. */
export interface SkillRow {
  readonly name: string
  readonly description: string
  readonly source: string
  /** Location of the folder. If the folder is on disk, this is an absolute path. */
  readonly location: string
  /** Identifier that names only this folder, for requests and for the command line. */
  readonly target: string
  /** Revision of the newest files in the folder. Null if the skill is broken. */
  readonly revision: Digest | null
  /** The served revision. Null if no revision of this folder is served. */
  readonly serving: Digest | null
  readonly status: SkillStatus
  /** Other folders with the same content, in order of precedence. */
  readonly copies: readonly { readonly source: string; readonly location: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** Null while the tokens are being counted, and for a skill that is not served. */
  readonly tokens: SkillTokens | null
  /** Uses of the skill in this process. Null if the skill was not used since the server started. */
  readonly usage: SkillUseSummary | null
}

/** The uses of a skill since the server started. */
export interface SkillUseSummary {
  readonly count: number
  /** Wall time of the last use, as an ISO date. */
  readonly lastAt: string
  /** Revision of the last use. */
  readonly revision: Digest
}

/** `GET /api/skills`: every skill folder in the sources, sorted by name and then by precedence. */
export interface SkillList {
  readonly generation: GenerationId
  readonly skills: readonly SkillRow[]
  readonly sources: readonly SourceReport[]
}

/** `GET /api/not-skills`: the files and folders in the sources that are not skills. */
export type NotSkillList = NotSkills

export interface FileInfo {
  readonly path: string
  readonly digest: Digest
  /** Size in bytes. */
  readonly size: number
}

/** `GET /api/skills/:name` */
export interface SkillDetail {
  readonly generation: GenerationId
  /**
   * All folders with this name. The first one is the requested folder, or the served folder if the request contains
   * only a name.
   */
  readonly skills: readonly SkillRow[]
  /**
   * Revision from which `files`, `text` and `body` come. Normally the served revision. If the request named a folder
   * that is not served, the newest revision of that folder. Null if the folder has no valid revision.
   */
  readonly revision: Digest | null
  /** Files of `revision`. Empty if `revision` is null. */
  readonly files: readonly FileInfo[]
  /** Text of the SKILL.md of `revision`. Null if `revision` is null. */
  readonly text: string | null
  /** Instructions without the frontmatter. */
  readonly body: string | null
  /** Text of the SKILL.md on disk, if this text was refused. Line numbers of the diagnostics refer to this text. */
  readonly refusedText: string | null
  /** The steps by which the skill reaches a conversation. */
  readonly explanation: SkillExplanation
}

/** `GET /api/skills/:name/diff` */
export interface SkillDiff {
  /**
   * `refused` and `waiting` mean that the diff compares the refused or waiting text with the served revision. `changed`
   * means that the diff shows the last change since the server started.
   */
  readonly kind: 'refused' | 'waiting' | 'changed' | 'none'
  /**
   * The newer of the two compared revisions. Null if the text of the newer revision is broken, or if there is no
   * difference.
   */
  readonly to: Digest | null
  /** Unified diff. Empty if nothing differs. */
  readonly text: string
  /** Capabilities that the newer revision declares and the older revision does not. */
  readonly newCapabilities: readonly string[]
}

export type { DecisionVerb, GrantVerb } from './decision-verbs.ts'

/** `POST /api/decide` */
export interface DecideRequest {
  readonly verb: DecisionVerb
  /** Skill name, or `source/name`. */
  readonly skill: string
  /**
   * Whole digest of the revision that the caller has seen. The request fails if a newer revision of the skill exists.
   * Required for `approve`, `reject` and `pin`.
   */
  readonly revision?: string
  readonly note?: string
  /**
   * Whether the caller accepts invisible characters, and scripts that are not UTF-8 text. If false, the server refuses a
   * revision with such characters or scripts and responds with HIDDEN_TEXT.
   */
  readonly confirmHidden?: boolean
}

/** `POST /api/grant` */
export interface GrantRequest {
  readonly verb: GrantVerb
  /** Skill name, or `source/name`. */
  readonly skill: string
  readonly capabilities: readonly string[]
  /**
   * Whole digest of the revision that the caller has seen. The request fails if a newer revision of the skill exists.
   * Required for `grant`.
   */
  readonly revision?: string
}

/** `GET /api/skills/:name/scripts` */
export interface SkillScriptsInfo {
  /** Revision of the code that answers calls. Null if no code is loaded. */
  readonly revision: Digest | null
  readonly commands: readonly SkillCommand[]
  /** Files below `scripts/` that belong to no command. */
  readonly scripts: readonly string[]
  /** Capabilities that the skill may use (`granted`), asks for (`asked`), or asks for without a grant (`missing`). */
  readonly granted: readonly string[]
  readonly asked: readonly string[]
  readonly missing: readonly string[]
  /** Problems in the newest code. */
  readonly problems: readonly Diagnostic[]
  /** How scripts are contained. */
  readonly containment: ScriptContainment
}

/** `POST /api/run` */
export type RunRequest =
  | { readonly skill: string; readonly command: string; readonly input: unknown }
  | { readonly skill: string; readonly path: string; readonly args: readonly string[] }

/** Events that `POST /api/run` sends, one per line. The last event is the result or the failure. */
export type RunEvent =
  | ({ readonly kind: 'progress' } & CommandProgress)
  | ({ readonly kind: 'line' } & ScriptLine)
  | {
      readonly kind: 'result'
      readonly text: string
      /** Exit code of a script that is not a command. Null if a signal ended the script. */
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
  /** How the rollback was done: the files were written, the revision was pinned, or nothing had to change. */
  readonly how: RollbackOutcome['how']
}

/** `GET /api/skills/:name/history` */
export interface SkillHistory {
  /** Records, newest first. */
  readonly records: readonly RevisionRecord[]
}

/** `GET /api/skills/:name/file?path=` */
export interface FileText extends FileInfo {
  readonly revision: Digest
  /** Text of the file. In a file that is not text, bytes are written as escapes such as `<0xFF>`. */
  readonly text: string
  readonly isText: boolean
}

/** One model call. Every digest is shortened to eight digits. */
export interface ModelCall {
  readonly step: number
  /** Digest of the whole request. */
  readonly prefix: string
  /** Digest of the previous request. Null for the first request. */
  readonly last: string | null
  /**
   * Digest of the first n messages of this request, where n is the number of messages in the previous request. Null if
   * this request has fewer than n messages.
   */
  readonly sentBefore: string | null
  readonly isUnchanged: boolean
  /** Tokens that the provider reported. A number that the provider does not report is 0. Null until the call is over. */
  readonly usage: TokenUsage | null
}

export interface Told {
  readonly text: string
  readonly tokens: number
}

export interface Turn {
  readonly turn: number
  readonly question: string
  /** Notices that were sent to the conversation in this turn. */
  readonly told: readonly Told[]
  readonly calls: readonly ModelCall[]
  /** Answer of the model, shortened if it is long. Null until the turn is over. */
  readonly answer: string | null
  /** Reason why the turn failed. Null if the turn did not fail. */
  readonly failure: string | null
}

/** One conversation, with its catalog and its notices. */
export interface SessionInfo {
  readonly id: string
  /** Generation of the newest catalog or notice in the conversation. */
  readonly generation: GenerationId
  readonly catalog: { readonly tokens: number; readonly listed: number; readonly omitted: number }
  readonly loaded: readonly {
    readonly name: string
    readonly revision: Digest
    readonly isCurrent: boolean
  }[]
  /** Notice for the next model call. Null if no notice is pending. */
  readonly pending: Told | null
  /** The last turns. Empty if another program calls the model, for example an MCP client. */
  readonly turns: readonly Turn[]
}

/** `GET /api/sessions` */
export interface SessionList {
  readonly generation: GenerationId
  readonly sessions: readonly (SessionInfo & {
    /** The exact catalog of the conversation. */
    readonly catalogText: string
  })[]
}

export interface TimelineChange {
  readonly kind: SkillChange['kind']
  readonly name: string
  /** Revision before the change. */
  readonly from: Digest | null
  readonly to: Digest | null
  readonly facets: readonly SkillFacet[]
}

export interface TimelineProblem {
  readonly name: string
  readonly status: SkillStatus
  readonly serving: Digest | null
  /** Message of the first diagnostic of the skill. */
  readonly message: string
  readonly place: string
}

/** One update from a generation to the next. */
export interface TimelineEntry {
  readonly at: string
  readonly generation: GenerationId
  /** Whether the served skills changed. */
  readonly isDigestChanged: boolean
  /** Milliseconds from the newest save until the change was visible. Null if unknown. */
  readonly detectedMs: number | null
  readonly changes: readonly TimelineChange[]
  readonly problems: readonly TimelineProblem[]
  /** Skills that no longer have a problem, although their served revision is still the same. */
  readonly fixed: readonly string[]
  /**
   * Number of entries that `changes`, `problems` and `fixed` omit, because each of these lists has a maximum length.
   */
  readonly omitted: number
}

/** `POST /api/reload` */
export interface ReloadResult {
  readonly previous: GenerationId
  readonly generation: GenerationId
  readonly changes: readonly TimelineChange[]
  /** Every skill whose status is not `ok` after the reload. */
  readonly problems: readonly TimelineProblem[]
  /** Diagnostics of the sources, for example of a source that could not be read. */
  readonly sources: readonly SourceReport[]
}

/** The complete state, sent as the first event of a stream. */
export interface StateEvent {
  readonly kind: 'state'
  readonly status: ServerStatus
  readonly skills: readonly SkillRow[]
  readonly sessions: readonly SessionInfo[]
  /** Entries, oldest first. */
  readonly timeline: readonly TimelineEntry[]
}

/** A new generation. */
export interface UpdateEvent {
  readonly kind: 'update'
  readonly status: ServerStatus
  /** New and changed folders. */
  readonly skills: readonly SkillRow[]
  /** Removed folders. */
  readonly gone: readonly { readonly source: string; readonly location: string }[]
  readonly entry: TimelineEntry
}

/**
 * Contains the rows that changed without a new generation, because the tokens of a skill were counted or a skill was
 * used.
 */
export interface RowsEvent {
  readonly kind: 'rows'
  readonly skills: readonly SkillRow[]
}

/** Sent when conversations start, end, or continue. */
export interface SessionsEvent {
  readonly kind: 'sessions'
  readonly sessions: readonly SessionInfo[]
}

/** Sent when commands of a skill are added, removed, or changed. */
export interface CommandsEvent {
  readonly kind: 'commands'
  readonly skill: string
}

/** Events that `GET /api/events` sends. */
export type ServerEvent = StateEvent | UpdateEvent | RowsEvent | SessionsEvent | CommandsEvent

/** `POST /api/login` */
export interface LoginResult {
  /** Key that each request must send in the header `KEY_HEADER`, in addition to the cookie. */
  readonly key: string
}

export const KEY_HEADER = 'x-skillstoke-key'

/** Body of every response that is not 2xx. */
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
  | 'READ_ONLY'
  | 'IO_FAILED'
  | 'FAILED'

/** The fleets that the dev server follows. */
export interface FleetList {
  readonly fleets: readonly {
    /** Label of the source. */
    readonly label: string
    readonly channel: string
    readonly servers: string
    /** The state of the channel and of its agents; `null` if the servers do not answer. */
    readonly report: FleetReport | null
    /** Why the servers do not answer; `null` if they do. */
    readonly failure: string | null
  }[]
}

/** Asks for an earlier version of a published skill. */
export interface FleetRollbackRequest {
  /** Label of the source that follows the fleet. */
  readonly source: string
  readonly skill: string
  /** @default the newest version with other files */
  readonly version?: number
  /** The version that the caller has seen. */
  readonly expect: number
}
