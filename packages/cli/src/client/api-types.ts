import type { TokenUsage } from '@skillstoke/agent'
import type { Collision } from '@skillstoke/author'
import type { Score } from '@skillstoke/author/trials'
import type { Digest, SkillChange, SkillFacet, SkillStatus, ToolProgress } from '@skillstoke/core'
import type {
  describeScripts,
  GenerationId,
  SkillDetail,
  SkillRow,
  SourcesStatus,
} from '@skillstoke/core/internal'
import type { ScriptContainment, ScriptLine } from '@skillstoke/core/source'
import type { ApiClient } from './api-client.ts'

export type { Finding } from '@skillstoke/author'
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
  /** Name of the folder in which the server was started. */
  readonly project: string
  /** Command that starts the server again. */
  readonly command: string
  /** Name of the person who started the server, as the history shows it. */
  readonly user: string
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

/** The messages of the tests of a skill, with what their words and earlier runs say. */
export type SkillTestsInfo = Awaited<ReturnType<ApiClient['tests']>>
/** One message of the tests of a skill. */
export type TestCase = SkillTestsInfo['cases'][number]

/** Events that `POST /api/tests/run` sends, one per line. The last event is the result or the failure. */
export type TestRunEvent =
  | { readonly kind: 'progress'; readonly done: number; readonly of: number }
  | {
      readonly kind: 'result'
      readonly passed: number
      readonly total: number
      /** Why the run ended early. */
      readonly reason?: string
    }
  | { readonly kind: 'failed'; readonly message: string }

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
  /** When the question was asked, as an ISO date. */
  readonly at: string
  readonly question: string
  /** Notices that were sent to the conversation in this turn. */
  readonly told: readonly Told[]
  readonly calls: readonly ModelCall[]
  /** Answer of the model, shortened if it is long. Null until the turn is over. */
  readonly answer: string | null
  /** Reason why the turn failed. Null if the turn did not fail. */
  readonly failure: string | null
}

/** An MCP client, by what it says about itself. */
export interface ClientInfo {
  readonly name: string
  readonly version: string
  /** Names of the skills that the client has loaded since the server started. */
  readonly loaded: readonly string[]
  /** When the client was seen last, as an ISO date. */
  readonly lastAt: string
}

/** One conversation, with its catalog and its notices. */
export interface SessionInfo {
  readonly id: string
  /** `dev` is the conversation of the demo agent, and `page` a conversation that was held on the page. */
  readonly kind: 'dev' | 'page' | 'mcp'
  /** The MCP client. Null for other conversations, and until the client has said its name. */
  readonly client: ClientInfo | null
  /** Generation of the newest catalog or notice in the conversation. */
  readonly generation: GenerationId
  readonly catalog: { readonly tokens: number; readonly listed: number; readonly omitted: number }
  readonly loaded: readonly {
    readonly name: string
    readonly revision: Digest
    readonly isCurrent: boolean
  }[]
  /** Notice for the next model call, with the skills that it is about. Null if no notice is pending. */
  readonly pending: (Told & { readonly about: readonly string[] }) | null
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

/** Tests of a served revision that a model failed. */
export type FailingTests = Score

/** What an author should look at besides findings. Empty for more than 1,000 skills. */
export interface AttentionInfo {
  /** Pairs of skills that compete for the same messages. */
  readonly collisions: readonly Collision[]
  readonly failing: readonly FailingTests[]
}

/** The complete state, sent as the first event of a stream. */
export interface StateEvent {
  readonly kind: 'state'
  readonly status: ServerStatus
  readonly skills: readonly SkillRow[]
  readonly sessions: readonly SessionInfo[]
  /** MCP clients without a conversation, which read the newest skills at each request. The last one is first. */
  readonly clients: readonly ClientInfo[]
  /** Entries, oldest first. */
  readonly timeline: readonly TimelineEntry[]
  readonly attention: AttentionInfo
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

/** Events that `GET /api/events` sends. */
export type ServerEvent =
  | StateEvent
  | UpdateEvent
  /** The rows that changed without a new generation, because tokens were counted or a skill was used. */
  | { readonly kind: 'rows'; readonly skills: readonly SkillRow[] }
  /** Sent when conversations start, end, or continue. */
  | ({ readonly kind: 'sessions' } & Pick<StateEvent, 'sessions' | 'clients'>)
  /** Sent when there is more or less to look at. */
  | ({ readonly kind: 'attention' } & Pick<StateEvent, 'attention'>)
  /** Sent when commands of a skill are added, removed, or changed. */
  | { readonly kind: 'commands'; readonly skill: string }

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

/** Asks for an earlier version of a published skill. */
export interface FleetRollbackRequest {
  /** Label of the source that follows the fleet. */
  readonly source: string
  readonly skill: string
  /** The version to publish again. @default the newest version with other files */
  readonly version?: number | undefined
  /** The version that the caller has seen. */
  readonly expect: number
}
