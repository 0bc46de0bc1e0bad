import { type McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { SkillError } from '@skillstoke/core'

/** Answers one kind of request. */
export type RequestHandler = (request: unknown, context: ServerContext) => unknown

/**
 * The requests that both a host and the skills answer. McpServer notes in `flag` that it answers them, and keeps what the
 * host registers in `registered`.
 */
const KINDS = {
  tools: {
    methods: ['tools/list', 'tools/call'],
    flag: '_toolHandlersInitialized',
    registered: ['_registeredTools'],
  },
  prompts: {
    methods: ['prompts/list', 'prompts/get'],
    flag: '_promptHandlersInitialized',
    registered: ['_registeredPrompts'],
  },
  resources: {
    methods: ['resources/list', 'resources/templates/list', 'resources/read'],
    flag: '_resourceHandlersInitialized',
    registered: ['_registeredResources', '_registeredResourceTemplates'],
  },
  completions: {
    methods: ['completion/complete'],
    flag: '_completionHandlerInitialized',
    registered: ['_registeredPrompts', '_registeredResourceTemplates'],
  },
  subscriptions: { methods: ['resources/subscribe', 'resources/unsubscribe'], flag: '', registered: [] },
} as const

type Kind = keyof typeof KINDS
export type SharedMethod = (typeof KINDS)[Kind]['methods'][number]

/** The handlers of a host, by the requests that they answer. */
export type HostHandlers = ReadonlyMap<SharedMethod, RequestHandler>

/** The requests for which a handler may ask the client for input. The SDK may wrap such a handler only once. */
const ONCE_WRAPPED: ReadonlySet<SharedMethod> = new Set(['tools/call', 'prompts/get', 'resources/read'])

const SETUP_NAME = 'skillstoke-setup'

/**
 * Returns the handlers that serve what a host registers on its `McpServer`, now and later, and the handlers that the host
 * set itself, so that other handlers can be installed and ask these handlers. If a host registers tools, prompts or
 * resources and also sets its own handler for calling or reading them, its own handler is not used.
 * @throws {SkillError} INVALID_OPTION when the handlers of the host cannot be found
 */
export function takeHostHandlers(mcp: McpServer): HostHandlers {
  const { server } = mcp
  const handlers = new Map<SharedMethod, RequestHandler>()
  for (const kind of Object.keys(KINDS) as Kind[]) takeInstalled(mcp, kind, handlers)
  const own = server as { setRequestHandler: (method: SharedMethod, handler: RequestHandler) => void }
  own.setRequestHandler = (method, handler) => {
    if (!handlers.has(method)) handlers.set(method, handler)
  }
  try {
    // McpServer creates its handlers when the first tool, prompt or template is registered. These registrations are
    // removed at once, so nothing of them is ever served.
    if (!handlers.has('tools/call')) mcp.registerTool(SETUP_NAME, {}, () => ({ content: [] })).remove()
    if (!handlers.has('prompts/get')) mcp.registerPrompt(SETUP_NAME, {}, () => ({ messages: [] })).remove()
    const hasCompletions = handlers.has('completion/complete')
    if (!(handlers.has('resources/read') && hasCompletions)) {
      const complete = hasCompletions ? {} : { complete: { path: () => [] } }
      const template = new ResourceTemplate(`${SETUP_NAME}:{path}`, { list: undefined, ...complete })
      mcp.registerResource(SETUP_NAME, template, {}, () => ({ contents: [] })).remove()
    }
  } finally {
    // Removes the override, which restores the method of the class.
    Reflect.deleteProperty(server, 'setRequestHandler')
  }
  return handlers
}

/**
 * Takes the handlers that a server already has. If McpServer answers with what the host registered, McpServer is made to
 * create the handlers that may be wrapped only once again, because the installed ones are wrapped.
 */
function takeInstalled(mcp: McpServer, kind: Kind, handlers: Map<SharedMethod, RequestHandler>): void {
  const { methods, flag, registered } = KINDS[kind]
  const handled = methods.filter(method => isHandled(mcp, method))
  if (handled.length === 0) return
  const isRegistered = registered.some(field => Object.keys(Reflect.get(mcp, field) as object).length > 0)
  const isCreatedAgain = Reflect.get(mcp, flag) === true && isRegistered
  const installed: unknown = Reflect.get(mcp.server, '_requestHandlers')
  for (const method of handled) {
    if (isCreatedAgain && ONCE_WRAPPED.has(method)) continue
    const handler: unknown = installed instanceof Map ? installed.get(method) : undefined
    if (typeof handler !== 'function')
      throw new SkillError(
        'INVALID_OPTION',
        `the MCP server already answers "${method}", and this version of the MCP SDK does not expose the handler; add the skills right after "new McpServer(...)", before registering tools, and leave "${kind}" out of its "capabilities"`,
      )
    handlers.set(method, handler as RequestHandler)
  }
  for (const method of methods) mcp.server.removeRequestHandler(method)
  if (isCreatedAgain) Reflect.set(mcp, flag, false)
}

function isHandled({ server }: McpServer, method: SharedMethod): boolean {
  try {
    server.assertCanSetRequestHandler(method)
    return false
  } catch {
    return true
  }
}

interface AnyRequest {
  readonly params?: { readonly _meta?: unknown } | undefined
}

/** Returns all pages of what the host lists; an empty list if it lists nothing. */
export async function listOfHost<T>(
  host: HostHandlers,
  [method, field]: readonly [SharedMethod, string],
  { params }: AnyRequest,
  context: ServerContext,
): Promise<T[]> {
  const meta = params?._meta === undefined ? {} : { _meta: params._meta }
  const listed: T[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_HOST_PAGES; page++) {
    const asked = { method, params: { ...meta, ...(cursor === undefined ? {} : { cursor }) } }
    const answer = (await host.get(method)?.(asked, context)) as Record<string, unknown> | undefined
    listed.push(...((answer?.[field] ?? []) as T[]))
    cursor = answer?.['nextCursor']
    if (cursor === undefined) break
  }
  return listed
}

const MAX_HOST_PAGES = 100
