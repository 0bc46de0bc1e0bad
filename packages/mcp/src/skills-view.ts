import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  McpServer,
} from '@modelcontextprotocol/server'
import { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import {
  createAuthorTools,
  type Logger,
  type SkillReader,
  type SkillRuntime,
  type SkillScope,
  type SkillSession,
} from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { Clock } from '@skillstoke/core/source'
import { type AttachedParts, attachSkills } from './attach-skills.ts'
import { type ChangeNotification, ChangeNotifications } from './change-notifications.ts'
import type { RecentGenerations } from './recent-generations.ts'
import type { RequestTrace } from './request-trace.ts'
import { RuntimeSkillSource } from './runtime-skill-source.ts'
import { type ConstantTools, ServedTools } from './served-tools.ts'
import type { DEFAULT_MCP_OPTIONS, SkillMcpOptions } from './skill-mcp.ts'
import { SkillPrompts } from './skill-prompts.ts'

/** What all views of one server share. */
export interface SharedParts {
  readonly skills: SkillRuntime
  readonly options: SkillMcpOptions & typeof DEFAULT_MCP_OPTIONS
  readonly logger: Logger
  readonly clock: Clock
  readonly recent: RecentGenerations
  readonly trace: RequestTrace
  /** Returns an unused session id. */
  readonly nextSessionId: () => string
  readonly warnOnce: (message: string) => void
}

/** A server object that lives as long as its connection, because it sends notifications to the client. */
interface Connection {
  readonly server: McpServer
  /**
   * URIs that a 2025-era client subscribed to. For a 2026-era client, `'everything'`, because the SDK filters the
   * updates for the stream of the client.
   */
  readonly subscribed: Set<string> | 'everything'
  wasConnected: boolean
}

const INTRODUCTION =
  'This server provides skills: instructions, references and scripts for particular tasks. Before a task that one of ' +
  'them describes, load it with the tool "skill" and its name. Skills may change while you work; answers are always ' +
  'the newest revision.'

/** What the clients with one scope get: server objects that serve only the skills in the scope, and notifications. */
export class SkillsView {
  /** Answers 2026-era requests over HTTP. */
  readonly modern: McpHttpHandler
  readonly #parts: SharedParts
  readonly #scope: { readonly scope?: SkillScope }
  readonly #reader: SkillReader
  readonly #source: RuntimeSkillSource
  readonly #prompts: SkillPrompts
  readonly #extension: SkillsExtension
  readonly #notifications: ChangeNotifications
  readonly #connections = new Set<Connection>()
  /** Number of requests and streams that this view answers now. */
  #uses = 0
  readonly #unsubscribe: () => void

  constructor(parts: SharedParts, scope: SkillScope | undefined) {
    const { skills, options, logger, clock } = parts
    this.#parts = parts
    this.#scope = scope === undefined ? {} : { scope }
    this.#reader = skills.forConversation(this.#scope)
    this.#source = new RuntimeSkillSource(this.#reader, { pageSize: options.pageSize, logger })
    this.#prompts = new SkillPrompts(this.#reader, options)
    const { ttlMs, cacheScope } = options
    this.#extension = new SkillsExtension({
      source: this.#source,
      cacheHint: { ttlMs, cacheScope },
      onWarning: ({ path, message }) => parts.warnOnce(`${path}: ${message}`),
    })
    this.modern = createMcpHandler(context => this.#createShortLived(context), {
      legacy: 'reject',
      maxRequestBodySize: options.maxRequestBytes,
      onerror: error => this.#onError(error),
    })
    this.#notifications = new ChangeNotifications({
      clock,
      intervalMs: options.notificationIntervalMs,
      isInScope: this.#reader.isInScope,
      send: notification => this.#notify(notification),
    })
    const unsubscribe = skills.subscribe(update => this.#notifications.add(update), { phase: 'mcp' })
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

  /** Creates a server object for a connection, with a session for the conversation of the client. */
  createLasting(context: McpRequestContext): McpServer {
    const session = this.#openSession()
    try {
      const server = this.#createServer(session.catalog, context)
      this.#attachLasting(server, session, context.era)
      return server
    } catch (thrown) {
      session.close()
      throw thrown
    }
  }

  /** Adds the skills to a server object of a host. */
  attach(mcp: McpServer): void {
    const session = this.#openSession()
    try {
      this.#attachLasting(mcp, session, 'legacy')
    } catch (thrown) {
      session.close()
      throw thrown
    }
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.#notifications.close()
    await this.modern.close()
  }

  #openSession(): SkillSession {
    return this.#parts.skills.session({ id: this.#parts.nextSessionId(), ...this.#scope })
  }

  /** Creates a server object for one request. It has no conversation. */
  #createShortLived(context: McpRequestContext): McpServer {
    const { skills } = this.#parts
    const constant = {
      tools: skills.tools(this.#scope),
      describeUnknownTool: (name: string, tools: readonly string[]) =>
        skills.describeUnknownTool(name, tools, this.#scope),
    }
    const server = this.#createServer(this.#reader.catalog().text, context)
    attachSkills(server, this.#toAttached(constant, undefined), new Set())
    return server
  }

  #createServer(catalog: string, context: McpRequestContext): McpServer {
    const { name, version, ttlMs, cacheScope, instructions, createServer } = this.#parts.options
    const listed = [instructions, INTRODUCTION, catalog]
    if (createServer !== undefined) return withInstructions(createServer(context), listed)
    const cacheHint = { ttlMs, cacheScope }
    const listHints = [
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'resources/read',
    ]
    return new McpServer(
      { name, title: 'Skillstoke', version },
      {
        instructions: joinTexts(listed),
        cacheHints: Object.fromEntries(listHints.map(method => [method, cacheHint])),
      },
    )
  }

  #attachLasting(server: McpServer, session: SkillSession, era: 'legacy' | 'modern'): void {
    const { onSessionChange } = this.#parts.options
    const subscribed = new Set<string>()
    attachSkills(server, this.#toAttached(session, session), subscribed)
    const connection: Connection = {
      server,
      subscribed: era === 'legacy' ? subscribed : 'everything',
      wasConnected: false,
    }
    this.#connections.add(connection)
    onSessionChange?.()
    const { onclose } = server.server
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a hook of the SDK, which is not an event target
    server.server.onclose = () => {
      this.#connections.delete(connection)
      session.close()
      onSessionChange?.()
      onclose?.()
    }
  }

  #toAttached(constant: ConstantTools, session: SkillSession | undefined): AttachedParts {
    const { skills, options, recent, trace, warnOnce } = this.#parts
    const { onSessionChange, commandTools, adminTools } = options
    const authorTools = options.authorTools ? this.#createAuthorTools(session) : []
    return {
      tools: new ServedTools(skills, constant, { ...this.#scope, commandTools, adminTools, authorTools }),
      prompts: this.#prompts,
      source: this.#source,
      extension: this.#extension,
      reader: this.#reader,
      recent,
      trace,
      expand: async (message, values) =>
        session === undefined
          ? await skills.expandSlash(message, { ...this.#scope, values })
          : await session.expandSlash(message, { values }),
      ...(session === undefined ? {} : { session }),
      ...(onSessionChange === undefined ? {} : { onCall: onSessionChange }),
      warn: warnOnce,
    }
  }

  #createAuthorTools(session: SkillSession | undefined): ReturnType<typeof createAuthorTools> {
    const { skills, options } = this.#parts
    const conversation = session === undefined ? {} : { conversation: session.conversation }
    return createAuthorTools(skills.writer(), {
      isInScope: this.#reader.isInScope,
      author: { name: options.name, ...conversation },
    })
  }

  /** Notifies clients of changed tools, within the same rate limit as other notifications. */
  #followCommands(): () => void {
    const { skills, options } = this.#parts
    if (!(options.commandTools || options.adminTools) || !skills.scripts.canRun) return () => undefined
    return skills.scripts.subscribe(({ skill }) => {
      if (this.#reader.isInScope(skill)) this.#notifications.addToolChange()
    })
  }

  #notify(change: ChangeNotification): void {
    const { notify } = this.modern
    const targets: { readonly server: McpServer['server']; readonly subscribed: Connection['subscribed'] }[] =
      []
    for (const connection of this.#connections) {
      const isConnected = connection.server.isConnected()
      if (isConnected) targets.push({ server: connection.server.server, subscribed: connection.subscribed })
      // Forgets a closed server object of a host that replaced our `onclose`.
      else if (connection.wasConnected) this.#connections.delete(connection)
      connection.wasConnected ||= isConnected
    }
    const send = (
      method: string,
      sendTo: (target: (typeof targets)[number]) => Promise<void> | undefined,
    ): void => {
      const sent = targets.map(sendTo).filter(each => each !== undefined)
      for (const each of sent) each.catch((error: unknown) => this.#onError(error))
      this.#parts.trace.notified(method, sent.length)
    }
    if (change.isListChanged) {
      notify.resourcesChanged()
      send('notifications/resources/list_changed', ({ server }) => server.sendResourceListChanged())
    }
    if (change.arePromptsChanged) {
      notify.promptsChanged()
      send('notifications/prompts/list_changed', ({ server }) => server.sendPromptListChanged())
    }
    if (change.areToolsChanged) {
      notify.toolsChanged()
      send('notifications/tools/list_changed', ({ server }) => server.sendToolListChanged())
    }
    for (const uri of change.uris) {
      notify.resourceUpdated(uri)
      send('notifications/resources/updated', ({ server, subscribed }) =>
        subscribed === 'everything' || subscribed.has(uri) ? server.sendResourceUpdated({ uri }) : undefined,
      )
    }
  }

  #onError(error: unknown): void {
    this.#parts.logger.debug(`mcp: ${toMessage(error)}`, { error })
  }
}

/** Adds texts to the instructions of a server of a host. The SDK has no method for this. */
function withInstructions(mcp: McpServer, texts: readonly string[]): McpServer {
  const own: unknown = Reflect.get(mcp.server, '_instructions')
  Reflect.set(mcp.server, '_instructions', joinTexts([typeof own === 'string' ? own : '', ...texts]))
  return mcp
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter(text => text !== '').join('\n\n')
}
