import type { SkillExplanation } from '@skillstoke/core'
import { checkNumber, checkOptions, type KnownOptions, LONGEST_TIMER_MS } from '@skillstoke/core/internal'
import { createParser } from 'eventsource-parser'
import { ApiError } from './api-error.ts'
import {
  type ApiFailure,
  type DecideRequest,
  type FileText,
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

export interface ApiClientOptions {
  /** Address of the server, for example `http://127.0.0.1:4114`. @default the page's own */
  readonly url?: string
  /** @default none: the cookie of the page is sent */
  readonly token?: string
  /** The key of a page that has the cookie, asked for at each request. @default none */
  readonly key?: () => string | null
  /** Limit for one answer in milliseconds, at most `LONGEST_TIMER_MS`; event streams have none. @default 10,000 */
  readonly timeoutMs?: number
}

const KNOWN: KnownOptions<ApiClientOptions> = { url: true, token: true, key: true, timeoutMs: true }

export const DEFAULT_API_TIMEOUT_MS = 10_000

export interface EventStreamOptions {
  readonly signal?: AbortSignal
  /** Told when the stream is there, and when it is lost and will be tried again. */
  readonly onConnection?: (isConnected: boolean) => void
}

const KNOWN_STREAM: KnownOptions<EventStreamOptions> = { signal: true, onConnection: true }

const KNOWN_WHY: KnownOptions<{ readonly session?: string }> = { session: true }
const KNOWN_RUN: KnownOptions<{ readonly signal?: AbortSignal }> = { signal: true }
const KNOWN_RELOAD: KnownOptions<{ readonly timeoutMs?: number }> = { timeoutMs: true }

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 5_000

/**
 * The API of `stoke dev`, typed; for the page, for other processes, for programs of one's own.
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
    checkNumber('timeoutMs', options.timeoutMs, 1, LONGEST_TIMER_MS)
    this.#url = options.url?.replace(/\/$/, '') ?? ''
    this.#token = options.token
    this.#key = options.key
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_API_TIMEOUT_MS
  }

  /** Exchanges the token for the cookie of a page and the key that goes with it. */
  async login(token: string): Promise<LoginResult> {
    return (await this.#request('POST', '/api/login', { token })) as LoginResult
  }

  async status(): Promise<ServerStatus> {
    return (await this.#request('GET', '/api/generation')) as ServerStatus
  }

  async skills(): Promise<SkillList> {
    return (await this.#request('GET', '/api/skills')) as SkillList
  }

  /** Looks for files and folders in the sources that are not skills. */
  async notSkills(): Promise<NotSkillList> {
    return (await this.#request('GET', '/api/not-skills')) as NotSkillList
  }

  /** One skill with its files and instructions, by its name or a row's `target`. @throws {ApiError} NOT_FOUND, saying where it was looked for */
  async skill(name: string): Promise<SkillDetail> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}`)) as SkillDetail
  }

  /**
   * Where a skill stopped on its way to conversations, or to the one of an id. It is asked for by its name, by the name of its
   * folder, or by a path.
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

  /** What was refused of a skill, or waits, or else what changed last; of a name or of `source/name`. */
  async diff(name: string): Promise<SkillDiff> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/diff`)) as SkillDiff
  }

  /** Every step of a skill that is known, newest first. @throws {ApiError} NOT_FOUND */
  async history(name: string): Promise<SkillHistory> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/history`)) as SkillHistory
  }

  /** Decides what may be served. @throws {ApiError} NOT_FOUND; CONFLICT when there is another revision by now */
  async decide(request: DecideRequest): Promise<SkillRow> {
    return (await this.#request('POST', '/api/decide', request)) as SkillRow
  }

  /** What can be run of a skill, and what it may do. @throws {ApiError} NOT_FOUND */
  async scripts(name: string): Promise<SkillScriptsInfo> {
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/scripts`)) as SkillScriptsInfo
  }

  /** Decides what scripts may do. @throws {ApiError} NOT_FOUND */
  async grant(request: GrantRequest): Promise<SkillRow> {
    return (await this.#request('POST', '/api/grant', request)) as SkillRow
  }

  /**
   * Runs a command or a script: what happens meanwhile, then the result or the failure. Aborting the signal ends the work.
   * @throws {ApiError} for a request that makes no sense
   */
  async *run(
    request: RunRequest,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    checkOptions('run()', options, KNOWN_RUN)
    const { signal } = options
    const response = await fetch(`${this.#url}/api/run`, {
      method: 'POST',
      headers: { ...this.#headers(), 'content-type': 'application/json' },
      body: JSON.stringify(request),
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok || response.body === null) throw await toError(response)
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = `${rest}${part.value}`.split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') yield JSON.parse(line) as RunEvent
      }
    } finally {
      await reader.cancel().catch(() => undefined) // already at its end, or broken
    }
  }

  /** Brings an earlier revision back, named by its whole digest, by default the one before. @throws {ApiError} NOT_FOUND, CONFLICT */
  async rollback(skill: string, revision: string): Promise<RollbackResult> {
    return (await this.#request('POST', '/api/rollback', { skill, revision })) as RollbackResult
  }

  /** A file of the revision that `skill` answers with. @throws {ApiError} NOT_FOUND */
  async file(name: string, path: string): Promise<FileText> {
    const query = `?path=${encodeURIComponent(path)}`
    return (await this.#request('GET', `/api/skills/${encodeURIComponent(name)}/file${query}`)) as FileText
  }

  async sessions(): Promise<SessionList> {
    return (await this.#request('GET', '/api/sessions')) as SessionList
  }

  /** Reads everything again; what was on disk before the call is visible afterwards. */
  async reload(options: { readonly timeoutMs?: number } = {}): Promise<ReloadResult> {
    checkOptions('reload()', options, KNOWN_RELOAD)
    checkNumber('timeoutMs', options.timeoutMs, 1, LONGEST_TIMER_MS)
    return (await this.#request('POST', '/api/reload', {}, options.timeoutMs)) as ReloadResult
  }

  /**
   * The present state, then each change. A lost connection is taken up again where it broke, or with the present state
   * where that is not possible. Ends when the signal aborts. @throws {ApiError} UNAUTHORIZED, which no retry would heal
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
      await reader.cancel().catch(() => undefined) // already broken, which is how we got here
    }
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
