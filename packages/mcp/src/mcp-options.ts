import type { McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import { type Logger, SkillError, type SkillScope } from '@skillstoke/core'
import {
  checkOptions,
  defined,
  type KnownOptions,
  LONGEST_TIMER_MS,
  number,
  silentLogger,
  whole,
} from '@skillstoke/core/internal'
import { type Clock, systemClock } from '@skillstoke/core/source'
import type { ClientAccess } from './client-access.ts'
import type { AuditEntry } from './request-trace.ts'

export interface SkillMcpOptions {
  /** The skills that clients may see. @default all */
  readonly scope?: SkillScope
  /**
   * Creates the server object of a host, to which the skills are added. Called for each connection of a 2025-era client
   * or over stdio, and for each request of a 2026-era client over HTTP. @default a server object that offers only skills
   */
  readonly createServer?: (context: McpRequestContext) => McpServer
  /** Name of the server in the protocol. @default 'skillstoke' */
  readonly name?: string
  /** @default '0.0.0' */
  readonly version?: string
  /** Text at the start of the server's instructions, before the list of skills. @default '' */
  readonly instructions?: string
  /**
   * Who may use the server over HTTP, and which skills each client sees. A server without access control must be
   * protected by its host.
   * @default every caller sees every skill in the scope
   */
  readonly access?: ClientAccess
  /**
   * Maximum number of HTTP requests of one client in a minute. Without `access`, all callers together count as one client.
   * `Infinity` means no limit.
   * @default Infinity
   */
  readonly requestsPerMinute?: number
  /** Called after each request that used a skill or was refused. @default nothing */
  readonly audit?: (entry: AuditEntry) => void
  /** Maximum number of entries in one page of a list. Several clients read only the first page. @default 1,000 */
  readonly pageSize?: number
  /** Minimum time between two notifications of changes, in milliseconds. @default 250 */
  readonly notificationIntervalMs?: number
  /**
   * Maximum number of open 2025-era HTTP sessions. If all sessions are in use or were used within the last 30
   * seconds, a new client gets 503 with `Retry-After`. @default 256
   */
  readonly maxSessions?: number
  /**
   * How long the server keeps an unused 2025-era HTTP session in memory, in milliseconds. `Infinity` means forever. A
   * request of its client continues a session that is no longer in memory. @default 1,800,000
   */
  readonly sessionIdleMs?: number
  /**
   * Secret of at least 32 characters with which the ids of 2025-era HTTP sessions are sealed. A server with the same
   * secret continues the sessions of another server, or of the same server before its restart.
   * @default a random secret, so that no other server continues the sessions
   */
  readonly sessionKey?: string
  /**
   * Whether 2025-era clients get no session over HTTP. Each request then stands alone, and clients get no notifications.
   * @default false
   */
  readonly stateless?: boolean
  /** Maximum size of a request body over HTTP, in bytes. @default 1,048,576 */
  readonly maxRequestBytes?: number
  /**
   * Whether the server also offers each command as a tool named `skill.command`, besides `run_skill_command`. If true,
   * the list of tools changes with the skills, and clients are notified of each change. @default false
   */
  readonly commandTools?: boolean
  /**
   * Whether clients may reload and unload the code of skills, with the tools `skill.reload` and `skill.unload`.
   * @default false
   */
  readonly adminTools?: boolean
  /**
   * Whether a person at the client must agree before each run of a script (elicitation). A client that cannot ask a
   * person then runs no scripts. This stops a model, but not a client program that answers by itself. An agreement grants nothing: the skill and its
   * scripts need their approvals as before.
   * @default false
   */
  readonly confirmScripts?: boolean
  /**
   * Whether clients may write skills, with the tools `write_skill_file` and `reload_skills`. Needs a writable source.
   * What a client writes is live in its own connection, and waits for approval everywhere else. @default false
   */
  readonly authorTools?: boolean
  /** Called when a client connects or leaves, lists the tools, or has called a tool. */
  readonly onSessionChange?: (seen: SeenClient) => void
  readonly logger?: Logger
  readonly clock?: Clock
}

/** Who sent a request. */
export interface SeenClient {
  /** Id of the session of the runtime; absent for a client without a conversation. */
  readonly session?: string
  /** What the client says about itself; absent until the client has said it. */
  readonly client?: { readonly name: string; readonly version: string }
  /** The skill that the client has loaded with this call. */
  readonly loaded?: string
}

const KNOWN: KnownOptions<SkillMcpOptions> = {
  scope: true,
  name: true,
  version: true,
  instructions: true,
  createServer: true,
  access: true,
  requestsPerMinute: number(1),
  audit: true,
  pageSize: whole(1),
  notificationIntervalMs: number(0, LONGEST_TIMER_MS),
  maxSessions: whole(1),
  sessionIdleMs: number(1),
  sessionKey: true,
  stateless: true,
  maxRequestBytes: whole(1),
  commandTools: true,
  adminTools: true,
  confirmScripts: true,
  authorTools: true,
  onSessionChange: true,
  logger: true,
  clock: true,
}

/** The options that have a default. */
export type McpDefaults = Required<
  Omit<
    SkillMcpOptions,
    'scope' | 'createServer' | 'access' | 'audit' | 'sessionKey' | 'onSessionChange' | 'logger' | 'clock'
  >
>

export type ResolvedMcpOptions = SkillMcpOptions &
  Readonly<McpDefaults & Required<Pick<SkillMcpOptions, 'logger' | 'clock'>>>

export const DEFAULT_MCP_OPTIONS: Readonly<McpDefaults> = Object.freeze({
  name: 'skillstoke',
  version: '0.0.0',
  instructions: '',
  requestsPerMinute: Infinity,
  pageSize: 1_000,
  notificationIntervalMs: 250,
  maxSessions: 256,
  sessionIdleMs: 1_800_000,
  stateless: false,
  maxRequestBytes: 1_048_576,
  commandTools: false,
  adminTools: false,
  confirmScripts: false,
  authorTools: false,
})

const MIN_KEY_LENGTH = 32

/** Returns the checked options with their defaults. @throws {SkillError} INVALID_OPTION */
export function resolveOptions(given: SkillMcpOptions): ResolvedMcpOptions {
  checkOptions('SkillMcp', given, KNOWN)
  const options = { ...DEFAULT_MCP_OPTIONS, logger: silentLogger, clock: systemClock, ...defined(given) }
  const { sessionKey } = options
  if (sessionKey !== undefined && sessionKey.length < MIN_KEY_LENGTH)
    throw new SkillError(
      'INVALID_OPTION',
      `sessionKey has ${sessionKey.length} characters; use at least ${MIN_KEY_LENGTH}, for example from "openssl rand -hex 16"`,
    )
  return options
}
