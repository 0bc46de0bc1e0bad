import {
  checkOptions,
  type decideSkill,
  defined,
  type grantSkill,
  type KnownOptions,
  LONGEST_TIMER_MS,
  number,
} from '@skillstoke/core/internal'
import { createParser } from 'eventsource-parser'
import { hc } from 'hono/client'
import type { Api } from '../server/api.ts'
import { ApiError } from './api-error.ts'
import {
  type ApiFailure,
  type FleetRollbackRequest,
  KEY_HEADER,
  type RunEvent,
  type RunRequest,
  type ServerEvent,
  type TestRunEvent,
} from './api-types.ts'
import type { ChatEvent, ChatRequest } from './chat-types.ts'
import { readJsonLines, readParts } from './json-lines.ts'

interface ApiClientOptions {
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

const DEFAULT_TIMEOUT_MS = 10_000

interface StreamOptions {
  readonly signal?: AbortSignal
}

interface EventStreamOptions extends StreamOptions {
  /**
   * Called with true when the stream connects, and with false when the connection is lost. The client then reconnects.
   */
  readonly onConnection?: (isConnected: boolean) => void
}

const KNOWN_STREAM: KnownOptions<EventStreamOptions> = { signal: true, onConnection: true }
const KNOWN_SKILL: KnownOptions<{ readonly revision?: string }> = { revision: true }
const KNOWN_WHY: KnownOptions<{ readonly session?: string }> = { session: true }
const KNOWN_SIGNAL: KnownOptions<StreamOptions> = { signal: true }
const KNOWN_RELOAD: KnownOptions<{ readonly timeoutMs?: number }> = { timeoutMs: TIMEOUT }

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 5_000

/**
 * A typed client of the API of `stoke dev`. The page, other commands and your own programs use it. A name of a skill may
 * also be the `target` of a row. Each method throws an ApiError if the server refuses the request.
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
  readonly #timeoutMs: number
  readonly #api: ReturnType<typeof hc<Api>>

  constructor(options: ApiClientOptions = {}) {
    checkOptions('ApiClient', options, KNOWN)
    const { url = '', token, key, timeoutMs = DEFAULT_TIMEOUT_MS } = options
    this.#timeoutMs = timeoutMs
    this.#api = hc<Api>(`${url.replace(/\/$/, '')}/api`, {
      headers: () =>
        defined({
          authorization: token === undefined ? undefined : `Bearer ${token}`,
          [KEY_HEADER]: key?.() ?? undefined,
        }),
      fetch: async (input: Parameters<typeof fetch>[0], init?: RequestInit) =>
        await fetchOrThrow(input, { ...within(timeoutMs), ...init }),
    })
  }

  /**
   * Logs a page in with the token. The response sets a cookie, and contains a key that later requests need in addition
   * to the cookie.
   */
  async login(token: string) {
    return await read(this.#api.login.$post({ json: { token } }))
  }

  async status() {
    return await read(this.#api.generation.$get())
  }

  async skills() {
    return await read(this.#api.skills.$get())
  }

  /** Lists the files and folders in the sources that are not skills. */
  async notSkills() {
    return await read(this.#api['not-skills'].$get())
  }

  /** Lists the revisions that wait for approval. */
  async pending() {
    return await read(this.#api.pending.$get())
  }

  /**
   * Returns one skill with its files and instructions. NOT_FOUND names the sources that were searched. `revision` is a
   * digest, its first digits, `-1`, `yesterday` or a date, and shows that revision instead of the served one.
   */
  async skill(name: string, options: { readonly revision?: string } = {}) {
    checkOptions('skill()', options, KNOWN_SKILL)
    return await read(this.#api.skills[':name'].$get({ ...of(name), query: options }))
  }

  /**
   * Explains why a skill does not reach conversations, by naming the step that stopped the skill. If `session` is
   * given, explains why the skill does not reach that conversation. `name` is a skill name, a folder name, or a path.
   */
  async why(name: string, options: { readonly session?: string } = {}) {
    checkOptions('why()', options, KNOWN_WHY)
    return await read(this.#api.skills[':name'].why.$get({ ...of(name), query: options }))
  }

  /**
   * Compares two revisions, given as for `skill()`. By default, returns the change that was refused or waits for
   * approval, or else the last change.
   */
  async diff(name: string, revisions: { readonly from?: string; readonly to?: string } = {}) {
    return await read(this.#api.skills[':name'].diff.$get({ ...of(name), query: revisions }))
  }

  /** Returns the recorded history of a skill, newest first. */
  async history(name: string) {
    return await read(this.#api.skills[':name'].history.$get(of(name)))
  }

  /** Records a decision about a skill. CONFLICT means that a newer revision exists. */
  async decide(request: Omit<Parameters<typeof decideSkill>[0], 'by'>) {
    return await read(this.#api.decide.$post({ json: request }))
  }

  /** Returns the commands and scripts of a skill, and their capabilities. */
  async scripts(name: string) {
    return await read(this.#api.skills[':name'].scripts.$get(of(name)))
  }

  /** Grants or revokes capabilities. */
  async grant(request: Omit<Parameters<typeof grantSkill>[0], 'by' | 'note'>) {
    return await read(this.#api.grant.$post({ json: request }))
  }

  /** Runs a command or a script. Yields progress and output, then the result or the failure. Aborting the signal stops the run. */
  async *run(request: RunRequest, options: StreamOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    const init = toInit('run()', options)
    yield* readJsonLines<RunEvent>(await this.#api.run.$post({ json: request }, init))
  }

  /**
   * Asks a question in a playground conversation. Yields the events of the turn: text, tool calls, notices of changed
   * skills, and at the end `finish` or `failed`. Aborting the signal stops the model.
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
  async *ask(request: ChatRequest, options: StreamOptions = {}): AsyncGenerator<ChatEvent, void, undefined> {
    const init = toInit('ask()', options)
    yield* readJsonLines<ChatEvent>(await this.#api.chat.$post({ json: request }, init))
  }

  /**
   * Returns a playground conversation: its exact system text, messages and tools, the loaded skills, and the prefix of
   * each model call.
   */
  async chat(id: string) {
    const param = { id: encodeURIComponent(id) }
    return await read(this.#api.chat[':id'].$get({ param }))
  }

  /** Returns the messages of the tests of a skill, with what their words and earlier runs say. */
  async tests(name: string) {
    return await read(this.#api.skills[':name'].tests.$get(of(name)))
  }

  /** Names the skills that share most words with a message, the best first. Empty for a message that is not English. */
  async rank(message: string) {
    return await read(this.#api.rank.$get({ query: { message } }))
  }

  /** Sends the messages of a skill to the model. Yields progress, then the result or the failure. */
  async *runTests(skill: string, options: StreamOptions = {}): AsyncGenerator<TestRunEvent, void, undefined> {
    const init = toInit('runTests()', options)
    yield* readJsonLines<TestRunEvent>(await this.#api.tests.run.$post({ json: { skill } }, init))
  }

  /** Checks a text that is not saved as the SKILL.md of a skill. */
  async check(skill: string, text: string) {
    return await read(this.#api.check.$post({ json: { skill, text } }))
  }

  /** Writes the SKILL.md of a skill in one of the roots. CONFLICT means that the file no longer contains `before`. */
  async save(skill: string, before: string, text: string) {
    return await read(this.#api.save.$post({ json: { skill, before, text } }))
  }

  /** Creates a skill in the first root. */
  async create(skill: { readonly name: string; readonly description: string }) {
    return await read(this.#api.new.$post({ json: skill }))
  }

  /** Moves the folder of a skill in one of the roots to `.trash`. */
  async remove(skill: string) {
    return await read(this.#api.remove.$post({ json: { skill } }))
  }

  /** Moves a folder back that `remove()` moved to `trash` since the server started. */
  async putBack(trash: string) {
    return await read(this.#api['put-back'].$post({ json: { trash } }))
  }

  /** Opens the SKILL.md of a skill in the editor of the person who started the server. */
  async open(skill: string, line = 1) {
    return await read(this.#api.open.$post({ json: { skill, line } }))
  }

  /** Writes a message into the tests of a skill. Returns the path of the file. */
  async addTest(test: {
    readonly skill: string
    readonly kind: 'fires' | 'silent'
    readonly message: string
  }) {
    return await read(this.#api.tests.$post({ json: test }))
  }

  /** Restores an earlier revision. `revision` is the whole digest. */
  async rollback(skill: string, revision: string) {
    return await read(this.#api.rollback.$post({ json: { skill, revision } }))
  }

  /** Returns the followed fleets: the published versions, and which agent serves what. */
  async fleet() {
    return await read(this.#api.fleet.$get())
  }

  /** Returns the versions of a published skill, newest first. */
  async fleetVersions(source: string, skill: string) {
    return await read(this.#api.fleet.versions.$get({ query: { source, skill } }))
  }

  /** Publishes an earlier version of a skill to a fleet again. Needs the rights of a publisher. */
  async rollbackFleet(request: FleetRollbackRequest) {
    return await read(this.#api.fleet.rollback.$post({ json: request }))
  }

  /** Returns a file of a skill, from the same revision that `skill()` returns. */
  async file(name: string, path: string) {
    return await read(this.#api.skills[':name'].file.$get({ ...of(name), query: { path } }))
  }

  async sessions() {
    return await read(this.#api.sessions.$get())
  }

  /** Reads all sources again. Later requests see every file that was written before this call. */
  async reload(options: { readonly timeoutMs?: number } = {}) {
    checkOptions('reload()', options, KNOWN_RELOAD)
    return await read(
      this.#api.reload.$post({ json: {} }, { init: within(options.timeoutMs ?? this.#timeoutMs) }),
    )
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
    const response = await this.#api.events.$get(
      {},
      { headers: defined({ 'last-event-id': lastId }), init: { signal: signal ?? null } },
    )
    onOpen()
    const received: { id: string | undefined; event: ServerEvent }[] = []
    const parser = createParser({
      onEvent: ({ id, data }) => received.push({ id, event: JSON.parse(data) as ServerEvent }),
    })
    for await (const part of readParts(response)) {
      parser.feed(part)
      yield* received.splice(0)
    }
  }
}

async function read<T>(response: Promise<{ json(): Promise<T> }>): Promise<T> {
  return await (await response).json()
}

function within(timeoutMs: number): RequestInit {
  return { signal: AbortSignal.timeout(timeoutMs) }
}

function toInit(method: string, options: StreamOptions): { readonly init: RequestInit } {
  checkOptions(method, options, KNOWN_SIGNAL)
  return { init: { signal: options.signal ?? null } }
}

/** Names a skill in the path of a request. */
function of(name: string): { param: { name: string } } {
  return { param: { name: encodeURIComponent(name) } }
}

/** @throws {ApiError} if the server refuses the request */
async function fetchOrThrow(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.ok && response.body !== null) return response
  const failure = (await response.json().catch(() => undefined)) as ApiFailure | undefined
  const { code, message } = failure?.error ?? {
    code: 'FAILED' as const,
    message: `the server answered with ${response.status} ${response.statusText}`,
  }
  throw new ApiError(response.status, code, message)
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
