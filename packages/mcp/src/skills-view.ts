import {
  createMcpHandler,
  type McpHandlerRequestOptions,
  type McpHttpHandler,
  type McpRequestContext,
  type McpServer,
} from '@modelcontextprotocol/server'
import { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import {
  createAuthorTools,
  diffGenerations,
  type SessionOptions,
  type SkillReader,
  type SkillScope,
  type SkillSession,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { type AttachedParts, attachSkills, type SharedParts, type ViewParts } from './attach-skills.ts'
import { type ChangeSet, LISTS, toChangeSet } from './change-set.ts'
import { ClientLoads } from './client-loads.ts'
import { type Connection, Connections, EVERYTHING, limitMissed, logError } from './connections.ts'
import { createServer } from './create-server.ts'
import { readSender } from './incoming-request.ts'
import type { SessionServer } from './legacy-sessions.ts'
import { ListenGaps, withMissed } from './listen-gaps.ts'
import { observeBody } from './observe-body.ts'
import { ownerOf } from './request-owner.ts'
import { RuntimeSkillSource } from './runtime-skill-source.ts'
import { type ConstantTools, ServedTools } from './served-tools.ts'
import type { SealedSession } from './session-seal.ts'
import { SkillPrompts } from './skill-prompts.ts'

/** How a lasting server object reaches its client. */
interface LastingOptions {
  /** Whether the SDK filters the updates of files for the client. @default false */
  readonly isFiltered?: boolean
  /** What is reported when the stream of the client opens. @default the client has a stream from the start */
  readonly missed?: ChangeSet
  /** The session that the server object continues. Its subscriptions are unknown. @default a new session */
  readonly continued?: SealedSession
}

/** What the clients with one scope get: server objects that serve only the skills in the scope, and notifications. */
export class SkillsView {
  /** Answers 2026-era requests over HTTP. */
  readonly modern: McpHttpHandler
  readonly #parts: ViewParts
  readonly #scope: { readonly scope?: SkillScope }
  readonly #connections: Connections
  readonly #loads: ClientLoads
  readonly #gaps = new ListenGaps()
  /** Number of requests and streams that this view answers now. */
  #uses = 0
  readonly #unsubscribe: () => void

  constructor(parts: SharedParts, scope: SkillScope | undefined) {
    const { skills, options } = parts
    this.#scope = defined({ scope })
    const reader = skills.forConversation(this.#scope)
    const source = new RuntimeSkillSource(reader, options)
    const onWarning = ({ path, message }: { path: string; message: string }): void =>
      parts.warnOnce(`${path}: ${message}`)
    const extension = new SkillsExtension({ source, onWarning })
    this.#parts = { ...parts, reader, source, extension, prompts: new SkillPrompts(reader, options) }
    this.modern = createMcpHandler(context => this.#createShortLived(context), {
      legacy: options.stateless ? 'stateless' : 'reject',
      maxRequestBodySize: options.maxRequestBytes,
      onerror: error => logError(options, error),
    })
    this.#loads = new ClientLoads(reader, options)
    this.#connections = new Connections(parts, this.modern.bus)
    const unsubscribe = skills.subscribe(
      ({ changes }) => this.#connections.notify(toChangeSet(changes, reader.isInScope)),
      { phase: 'mcp' },
    )
    const unfollow = this.#followCommands()
    this.#unsubscribe = () => {
      unsubscribe()
      unfollow()
    }
  }

  /** Whether clients are connected, have open streams or wait for an answer. */
  get isInUse(): boolean {
    return this.#connections.size > 0 || this.#uses > 0
  }

  /** Counts a request. Returns a function that ends the count, for the end of the answer. */
  use(): () => void {
    this.#uses++
    return () => void this.#uses--
  }

  /**
   * Answers a 2026-era request over HTTP.
   * @param owner the sender of the request; empty if it is unknown
   */
  async fetch(request: Request, options: McpHandlerRequestOptions, owner: string): Promise<Response> {
    const sender = owner === '' ? undefined : readSender(owner, options.parsedBody)
    if (sender?.does === 'begin') this.#gaps.began(sender, this.#parts.reader.current.digest)
    const response = await this.modern.fetch(request, options)
    if (sender?.does !== 'listen' || response.headers.get('content-type') !== 'text/event-stream')
      return response
    const told = withMissed(response, this.#changesSince(this.#gaps.opened(sender)) ?? EVERYTHING)
    return observeBody(told, () => this.#gaps.ended(sender, this.#parts.reader.current.digest))
  }

  /** Creates a server object for a connection, with a session for the conversation of the client. */
  createLasting(context: McpRequestContext): McpServer {
    return this.#withSession({}, session => {
      const server = createServer(this.#parts.options, this.#catalogOf(session), context)
      this.#attachLasting(server, session, { isFiltered: context.era === 'modern' })
      return server
    })
  }

  /**
   * Creates the server object of a session over HTTP.
   * @param conversation identity of the conversation
   * @param continued the session that another server object began; absent for a new session
   */
  createSession(context: McpRequestContext, conversation: string, continued?: SealedSession): SessionServer {
    return this.#withSession({ conversation }, session => {
      const server = createServer(this.#parts.options, this.#catalogOf(session), context)
      const connection = this.#attachLasting(server, session, {
        missed: continued === undefined ? new Set() : this.#missedBy(continued),
        ...(continued === undefined ? {} : { continued }),
      })
      return {
        server,
        setListening: isListening => this.#connections.setListening(connection, isListening),
      }
    })
  }

  /** Adds the skills to a server object of a host. */
  attach(mcp: McpServer): void {
    this.#withSession({}, session => this.#attachLasting(mcp, session))
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.#connections.close()
    await this.modern.close()
  }

  /** Opens a session for a server object. Closes it again if the server object cannot be created. */
  #withSession<T>(options: Pick<SessionOptions, 'conversation'>, create: (session: SkillSession) => T): T {
    const session = this.#parts.skills.session({
      id: this.#parts.nextSessionId(),
      ...this.#scope,
      ...options,
    })
    try {
      return create(session)
    } catch (thrown) {
      session.close()
      throw thrown
    }
  }

  #catalogOf({ generation }: SkillSession): string {
    return this.#renderCatalog(this.#parts.reader.forConversation({ ...this.#scope, pinned: generation }))
  }

  /**
   * Renders the list of skills. Clients cannot use the locations in other formats, because a client addresses a file by
   * the name of its skill. The format `none` of the runtime holds here, too.
   */
  #renderCatalog(reader: SkillReader): string {
    return reader.catalog().text === '' ? '' : reader.catalog('lines').text
  }

  /** Returns what changed for clients since a generation; `undefined` if the generation is unknown. */
  #changesSince(digest: string | undefined): ChangeSet | undefined {
    const { recent, options } = this.#parts
    const { current, isInScope } = this.#parts.reader
    const since = digest === undefined ? undefined : recent.find(digest)
    if (since === undefined) return undefined
    const changes = diffGenerations(since, current)
    const hasChangingTools = options.commandTools || options.adminTools
    const tools = changes.length > 0 && hasChangingTools ? ['tools/list_changed'] : []
    return toChangeSet(changes, isInScope).union(new Set(tools))
  }

  /** Returns what a continued session may have missed. Its subscriptions are unknown, so it hears of every file. */
  #missedBy({ generation }: SealedSession): ChangeSet {
    const { current, isInScope } = this.#parts.reader
    const added = current.list().map(skill => ({ kind: 'added' as const, name: skill.name, skill }))
    return limitMissed(
      this.#changesSince(generation) ?? new Set([...LISTS, ...toChangeSet(added, isInScope)]),
    )
  }

  /** Creates a server object for one request. It has no conversation. */
  #createShortLived(context: McpRequestContext): McpServer {
    const { skills } = this.#parts
    const constant = {
      tools: skills.tools(this.#scope),
      describeUnknownTool: (name: string, tools: readonly string[]) =>
        skills.describeUnknownTool(name, tools, this.#scope),
    }
    const server = createServer(this.#parts.options, this.#renderCatalog(this.#parts.reader), context)
    // Several users may share a client, but not a token.
    const owner = context.requestInfo === undefined ? '' : ownerOf(context.requestInfo)
    const attached = this.#toAttached(constant, undefined)
    attachSkills(server, { ...attached, loads: { memory: this.#loads, owner } }, new Set())
    return server
  }

  #attachLasting(
    server: McpServer,
    session: SkillSession,
    { isFiltered = false, missed, continued }: LastingOptions = {},
  ): Connection {
    const { onSessionChange } = this.#parts.options
    const subscribed = new Set<string>()
    const isContinued = continued !== undefined
    attachSkills(server, this.#toAttached(session, session, isContinued), subscribed)
    const connection = this.#connections.add(server, {
      subscribed: isFiltered || isContinued ? EVERYTHING : subscribed,
      missed,
    })
    const seen = { session: session.id }
    onSessionChange?.(seen)
    const { onclose } = server.server
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a hook of the SDK, which is not an event target
    server.server.onclose = () => {
      this.#connections.delete(connection)
      session.close()
      onSessionChange?.(seen)
      onclose?.()
    }
    return connection
  }

  #toAttached(
    constant: ConstantTools,
    session: SkillSession | undefined,
    isContinued = false,
  ): AttachedParts {
    const { skills, options } = this.#parts
    const authorTools = options.authorTools ? this.#createAuthorTools(session) : []
    return {
      ...this.#parts,
      tools: new ServedTools(skills, constant, authorTools, { ...options, ...this.#scope }),
      invoke: async (skill, values) => {
        if (session === undefined) return await skills.invoke(skill, values)
        // The conversation sees the unapproved skills that it wrote.
        const reader = skills.forConversation({ ...this.#scope, id: session.conversation })
        return await session.invoke(reader.current.find(skill.name) ?? skill, values)
      },
      ...defined({ session }),
      isContinued,
      catalog: session === undefined ? '' : this.#catalogOf(session),
    }
  }

  #createAuthorTools(session: SkillSession | undefined): ReturnType<typeof createAuthorTools> {
    const { skills, options } = this.#parts
    const conversation = session === undefined ? {} : { conversation: session.conversation }
    return createAuthorTools(skills.writer(), {
      isInScope: this.#parts.reader.isInScope,
      author: { name: options.name, ...conversation },
    })
  }

  /** Notifies clients of changed tools, within the same rate limit as other notifications. */
  #followCommands(): () => void {
    const { skills, options } = this.#parts
    if (!(options.commandTools || options.adminTools) || !skills.scripts.canRun) return () => undefined
    return skills.scripts.subscribe(({ skill }) => {
      if (this.#parts.reader.isInScope(skill)) this.#connections.notify(new Set(['tools/list_changed']))
    })
  }
}
