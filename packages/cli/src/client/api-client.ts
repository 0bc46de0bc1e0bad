import type { SkillExplanation } from '@skillstoke/core'
import { checkOptions, type KnownOptions, LONGEST_TIMER_MS, number } from '@skillstoke/core/internal'
import type { PublishReport } from '@skillstoke/fleet'
import { createParser } from 'eventsource-parser'
import { ApiError } from './api-error.ts'
import {
  type ApiFailure,
  type DecideRequest,
  type FileText,
  type FleetList,
  type FleetRollbackRequest,
  type GrantRequest,
  KEY_HEADER,
  type LoginResult,
  type NotSkillList,
  type ReloadResult,
  type RollbackResult,
  type RunEvent,
  type RunRequest,
  type ServerEvent,
  type ServerStatus,
  type SessionList,
  type SkillDetail,
  type SkillDiff,
  type SkillHistory,
  type SkillList,
  type SkillRow,
  type SkillScriptsInfo,
} from './api-types.ts'
import type { ChatDetail, ChatEvent, ChatRequest } from './chat-types.ts'
import { readJsonLines } from './json-lines.ts'

export interface ApiClientOptions {
  /** Address of the server, for example `http://127.0.0.1:4114`. @default the server that sent the page */
  readonly url?: string
  /** Token of the server. @default none; on the page, the browser sends a cookie instead */
  readonly token?: string
  /** Returns the key that `login()` returned. The client calls this function at each request. @default none */
  readonly key?: () => string | null
  /**
   * Timeout of each request in milliseconds, at most `LONGEST_TIMER_MS`. Event streams have no timeout. @default 10,000
   */
  readonly timeoutMs?: number
}

const TIMEOUT = number(1, LONGEST_TIMER_MS)
const KNOWN: KnownOptions<ApiClientOptions> = { url: true, token: true, key: true, timeoutMs: TIMEOUT }

export const DEFAULT_API_TIMEOUT_MS = 10_000

export interface EventStreamOptions {
  readonly signal?: AbortSignal
  /**
   * Called with true when the stream connects, and with false when the connection is lost. The client then reconnects.
   */
  readonly onConnection?: (isConnected: boolean) => void
}

const KNOWN_STREAM: KnownOptions<EventStreamOptions> = { signal: true, onConnection: true }

const KNOWN_WHY: KnownOptions<{ readonly session?: string }> = { session: true }
const KNOWN_SIGNAL: KnownOptions<{ readonly signal?: AbortSignal }> = { signal: true }
const KNOWN_RELOAD: KnownOptions<{ readonly timeoutMs?: number }> = { timeoutMs: TIMEOUT }

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 5_000

/**
 * A typed client of the API of `stoke dev`. The page, other commands and your own programs use it.
 *
 * @example
 * ```ts no-run
 * import { ApiClient } from 'skillstoke/client'
 *
 * const client = new ApiClient({ url: 'http://127.0.0.1:4114', token: process.env['STOKE_TOKEN'] ?? '' })
 * for (const { name, status } of (await client.skills()).skills) console.log(name, status)
 * for await (const event of client.events({ signal: AbortSignal.timeout(60_000) })) console.log(event)
 * ```
 */
export class ApiClient {
  readonly #url: string
  readonly #token: string | undefined
  readonly #key: (() => string | null) | undefined
  readonly #timeoutMs: number

  constructor(options: ApiClientOptions = {}) {
    checkOptions('ApiClient', options, KNOWN)
    this.#url = options.url?.replace(/\/$/, '') ?? ''
    this.#token = options.token
    this.#key = options.key
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_API_TIMEOUT_MS
  }

  /**
   * Logs a page in with the token. The response sets a cookie, and contains a key that later requests need in addition
   * to the cookie.
   */
  async login(token: string): Promise<LoginResult> {
    return (await this.#request('POST', '/api/login', { token })) as LoginResult
  }

  async status(): Promise<ServerStatus> {
    return (await this.#request('GET', '/api/generation')) as ServerStatus
  }

  async skills(): Promise<SkillList> {
    return (await this.#request('GET', '/api/skills')) as SkillList
  }

  /** Lists the files and folders in the sources that are not skills. */
  async notSkills(): Promise<NotSkillList> {
    return (await this.#request('GET', '/api/not-skills')) as NotSkillList
  }

  /**
   * Returns one skill with its files and instructions. `name` is a skill name or the `target` of a row.
   * @throws {ApiError} NOT_FOUND, with the sources that were searched
   */
  async skill(name: string): Promise<SkillDetail> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}`)) as SkillDetail
  }

  /**
   * Explains why a skill does not reach conversations, by naming the step that stopped the skill. If `session` is
   * given, explains why the skill does not reach that conversation. `name` is a skill name, a folder name, or a path.
   * @throws {ApiError} NOT_FOUND for an unknown conversation
   */
  async why(name: string, options: { readonly session?: string } = {}): Promise<SkillExplanation> {
    checkOptions('why()', options, KNOWN_WHY)
    const query = options.session === undefined ? '' : `?session=${encodeURIComponent(options.session)}`
    return (await this.#request(
      'GET',
      `/api/skills/${encodeURIComponent(name)}/why${query}`,
    )) as SkillExplanation
  }

  /**
   * Returns the change that was refused or waits for approval. If the skill has no such change, returns the last
   * change. `name` is a skill name or `source/name`.
   */
  async diff(name: string): Promise<SkillDiff> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/diff`)) as SkillDiff
  }

  /** Returns the recorded history of a skill, newest first. @throws {ApiError} NOT_FOUND */
  async history(name: string): Promise<SkillHistory> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/history`)) as SkillHistory
  }

  /** Records a decision about a skill. @throws {ApiError} NOT_FOUND; CONFLICT when a newer revision exists */
  async decide(request: DecideRequest): Promise<SkillRow> {
    return (await this.#request('POST', '/api/decide', request)) as SkillRow
  }

  /** Returns the commands and scripts of a skill, and their capabilities. @throws {ApiError} NOT_FOUND */
  async scripts(name: string): Promise<SkillScriptsInfo> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/scripts`)) as SkillScriptsInfo
  }

  /** Grants or revokes capabilities. @throws {ApiError} NOT_FOUND */
  async grant(request: GrantRequest): Promise<SkillRow> {
    return (await this.#request('POST', '/api/grant', request)) as SkillRow
  }

  /**
   * Runs a command or a script. Yields progress and output, then the result or the failure. Aborting the signal stops the run.
   * @throws {ApiError} for an invalid request
   */
  async *run(
    request: RunRequest,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    checkOptions('run()', options, KNOWN_SIGNAL)
    yield* this.#lines<RunEvent>('/api/run', request, options.signal)
  }

  /**
   * Asks a question in a playground conversation. Yields the events of the turn: text, tool calls, notices of changed
   * skills, and at the end `finish` or `failed`. Aborting the signal stops the model.
   * @throws {ApiError} NOT_FOUND for an unknown conversation or skill; TOO_MANY; INVALID_REQUEST
   *
   * @example
   * ```ts no-run
   * import { ApiClient } from 'skillstoke/client'
   *
   * const client = new ApiClient({ url: 'http://127.0.0.1:4114', token: process.env['STOKE_TOKEN'] ?? '' })
   * for await (const event of client.ask({ question: 'May I get a refund?' })) {
   *   if (event.kind === 'text') process.stdout.write(event.delta)
   *   if (event.kind === 'finish') console.log(event.usage)
   * }
   * ```
   */
  async *ask(
    request: ChatRequest,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<ChatEvent, void, undefined> {
    checkOptions('ask()', options, KNOWN_SIGNAL)
    yield* this.#lines<ChatEvent>('/api/chat', request, options.signal)
  }

  /**
   * Returns a playground conversation: its exact system text, messages and tools, the loaded skills, and the prefix of
   * each model call. @throws {ApiError} NOT_FOUND
   */
  async chat(id: string): Promise<ChatDetail> {
    return (await this.#request('GET', `/api/chat/${encodeURIComponent(id)}`)) as ChatDetail
  }

  /** Restores an earlier revision. `revision` is the whole digest. @throws {ApiError} NOT_FOUND, CONFLICT, READ_ONLY */
  async rollback(skill: string, revision: string): Promise<RollbackResult> {
    return (await this.#request('POST', '/api/rollback', { skill, revision })) as RollbackResult
  }

  /** Returns the followed fleets: the published versions, and which agent serves what. */
  async fleet(): Promise<FleetList> {
    return (await this.#request('GET', '/api/fleet')) as FleetList
  }

  /**
   * Publishes an earlier version of a skill to a fleet again. Needs the rights of a publisher.
   * @throws {ApiError} NOT_FOUND; CONFLICT if the skill has not the expected version
   */
  async rollbackFleet(request: FleetRollbackRequest): Promise<PublishReport> {
    return (await this.#request('POST', '/api/fleet/rollback', request)) as PublishReport
  }

  /** Returns a file of a skill, from the same revision that `skill()` returns. @throws {ApiError} NOT_FOUND */
  async file(name: string, path: string): Promise<FileText> {
    const query = `?path=${encodeURIComponent(path)}`
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/file${query}`)) as FileText
  }

  async sessions(): Promise<SessionList> {
    return (await this.#request('GET', '/api/sessions')) as SessionList
  }

  /** Reads all sources again. Later requests see every file that was written before this call. */
  async reload(options: { readonly timeoutMs?: number } = {}): Promise<ReloadResult> {
    checkOptions('reload()', options, KNOWN_RELOAD)
    return (await this.#request('POST', '/api/reload', {}, options.timeoutMs)) as ReloadResult
  }

  /**
   * Yields the present state, then each change. After a lost connection, reconnects and continues with the first missed
   * event. If the server has dropped the missed event, yields the present state again. Ends when the signal aborts.
   * @throws {ApiError} UNAUTHORIZED, because a retry would not help
   */
  async *events(options: EventStreamOptions = {}): AsyncGenerator<ServerEvent, void, undefined> {
    checkOptions('events()', options, KNOWN_STREAM)
    const { signal, onConnection } = options
    let lastId: string | undefined
    let retryMs = FIRST_RETRY_MS
    while (!signal?.aborted) {
      try {
        for await (const { id, event } of this.#stream(lastId, signal, () => onConnection?.(true))) {
          lastId = id ?? lastId
          retryMs = FIRST_RETRY_MS
          yield event
        }
      } catch (thrown) {
        if (thrown instanceof ApiError && thrown.status < 500) throw thrown
      }
      if (signal?.aborted) return
      onConnection?.(false)
      await wait(retryMs, signal)
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)
    }
  }

  async *#stream(
    lastId: string | undefined,
    signal: AbortSignal | undefined,
    onOpen: () => void,
  ): AsyncGenerator<{ id: string | undefined; event: ServerEvent }, void, undefined> {
    const response = await fetch(`${this.#url}/api/events`, {
      headers: { ...this.#headers(), ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok || response.body === null) throw await toError(response)
    onOpen()
    const received: { id: string | undefined; event: ServerEvent }[] = []
    const parser = createParser({
      onEvent: ({ id, data }) => received.push({ id, event: JSON.parse(data) as ServerEvent }),
    })
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        parser.feed(part.value)
        yield* received.splice(0)
      }
    } finally {
      await reader.cancel().catch(() => undefined) // fails if the stream is broken
    }
  }

  /** Sends a request, and yields each line of the response. */
  async *#lines<T>(
    path: string,
    body: unknown,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, void, undefined> {
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { ...this.#headers(), 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok || response.body === null) throw await toError(response)
    yield* readJsonLines<T>(response.body)
  }

  async #request(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<unknown> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { ...this.#headers(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw await toError(response)
    return await response.json()
  }

  #headers(): Record<string, string> {
    const key = this.#key?.()
    return {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(key ? { [KEY_HEADER]: key } : {}),
    }
  }
}

async function toError(response: Response): Promise<ApiError> {
  const failure = (await response.json().catch(() => undefined)) as ApiFailure | undefined
  const { code, message } = failure?.error ?? {
    code: 'FAILED' as const,
    message: `the server answered with ${response.status} ${response.statusText}`,
  }
  return new ApiError(response.status, code, message)
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>(resolve => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done, { once: true })
  })
}
