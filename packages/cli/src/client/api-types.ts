import type { TokenUsage } from '@skillstoke/agent'
import type { Digest, SkillChange, SkillFacet, SkillStatus, ToolProgress } from '@skillstoke/core'
import type {
  describeScripts,
  GenerationId,
  SkillDetail,
  SkillRow,
  SourcesStatus,
} from '@skillstoke/core/internal'
import type { ScriptContainment, ScriptLine } from '@skillstoke/core/source'

// The answers to questions about skills, which the command line gives without a server, too.
export type {
  CatalogUse,
  DecidedRow,
  DecisionVerb,
  FileText,
  GenerationId,
  GrantVerb,
  SkillDetail,
  SkillDiff,
  SkillList,
  SkillRow,
  SkillVisibility,
} from '@skillstoke/core/internal'
export type { NotSkills as NotSkillList } from '@skillstoke/core/source'

/** State of one source, for example its path, how it is watched, and its diagnostics. */
export type SourceState = SourcesStatus['sources'][number]
export type FileInfo = SkillDetail['files'][number]
/** Token counts with the o200k vocabulary. For models with another vocabulary, these counts are estimates. */
export type SkillTokens = NonNullable<SkillRow['tokens']>

/** `GET /api/generation` */
export interface ServerStatus extends SourcesStatus {
  /** Random id that the server chooses at each start. Every event id begins with this id. */
  readonly startId: string
  readonly pid: number
  readonly version: string
  readonly stateDirectory: string
  /** Name of the model that answers in the conversation of the demo agent and in the playground. */
  readonly model: string
}

/** `GET /api/skills/:name/scripts` */
export type SkillScriptsInfo = ReturnType<typeof describeScripts> & {
  /** How scripts are contained. */
  readonly containment: ScriptContainment
}

/** `POST /api/run` */
export type RunRequest =
  | { readonly skill: string; readonly command: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly skill: string; readonly path: string; readonly args: readonly string[] }

/** `POST /api/fleet/rollback`: asks for an earlier version of a published skill. */
export interface FleetRollbackRequest {
  /** Label of the source that follows the fleet. */
  readonly source: string
  readonly skill: string
  /** @default the newest version with other files */
  readonly version?: number
  /** The version that the caller has seen. */
  readonly expect: number
}

/** Events that `POST /api/run` sends, one per line. The last event is the result or the failure. */
export type RunEvent =
  | ({ readonly kind: 'progress' } & ToolProgress)
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
