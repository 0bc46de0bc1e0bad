import { type McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { SkillError } from '@skillstoke/core'

/** Answers one kind of request. */
export type RequestHandler = (request: unknown, context: ServerContext) => unknown

/** The requests that both a host and the skills answer, and the field in which McpServer notes that it answers them. */
const KINDS = {
  tools: { methods: ['tools/list', 'tools/call'], flag: '_toolHandlersInitialized' },
  prompts: { methods: ['prompts/list', 'prompts/get'], flag: '_promptHandlersInitialized' },
  resources: {
    methods: ['resources/list', 'resources/templates/list', 'resources/read'],
    flag: '_resourceHandlersInitialized',
  },
  completions: { methods: ['completion/complete'], flag: '_completionHandlerInitialized' },
} as const

type Kind = keyof typeof KINDS
export type SharedMethod = (typeof KINDS)[Kind]['methods'][number]

const SETUP_NAME = 'skillstoke-setup'

/**
 * Returns the handlers that serve what a host registers on its `McpServer`, now and later, so that other handlers can
 * be installed and ask these handlers.
 * @throws {SkillError} INVALID_OPTION when the handlers of the host cannot be found
 */
export function takeHostHandlers(mcp: McpServer): ReadonlyMap<SharedMethod, RequestHandler> {
  const { server } = mcp
  const handlers = new Map<SharedMethod, RequestHandler>()
  for (const kind of Object.keys(KINDS) as Kind[]) takeInstalled(mcp, kind, handlers)
  const own = server as { setRequestHandler: (method: SharedMethod, handler: RequestHandler) => void }
  own.setRequestHandler = (method, handler) => void handlers.set(method, handler)
  try {
    // McpServer creates its handlers when the first tool, prompt or template is registered. These registrations are
    // removed at once, so nothing of them is ever served.
    if (!handlers.has('tools/list')) mcp.registerTool(SETUP_NAME, {}, () => ({ content: [] })).remove()
    if (!handlers.has('prompts/list')) mcp.registerPrompt(SETUP_NAME, {}, () => ({ messages: [] })).remove()
    const hasCompletions = handlers.has('completion/complete')
    if (!(handlers.has('resources/list') && hasCompletions)) {
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
 * Takes the handlers that a server already has. McpServer is made to create its own handlers again, because the
 * installed ones are wrapped, and a request must pass the wrapper only once. Handlers of the host itself are taken as
 * they are.
 */
function takeInstalled(mcp: McpServer, kind: Kind, handlers: Map<SharedMethod, RequestHandler>): void {
  const { methods, flag } = KINDS[kind]
  const handled = methods.filter(method => isHandled(mcp, method))
  if (handled.length === 0) return
  if (Reflect.get(mcp, flag) === true) {
    for (const method of methods) mcp.server.removeRequestHandler(method)
    Reflect.set(mcp, flag, false)
    return
  }
  const installed: unknown = Reflect.get(mcp.server, '_requestHandlers')
  for (const method of handled) {
    const handler: unknown = installed instanceof Map ? installed.get(method) : undefined
    if (typeof handler !== 'function')
      throw new SkillError(
        'INVALID_OPTION',
        `the MCP server already answers "${method}", and this version of the MCP SDK does not tell how; add the skills right after "new McpServer(...)", before registering tools, and leave "${kind}" out of its "capabilities"`,
      )
    handlers.set(method, handler as RequestHandler)
  }
}

function isHandled({ server }: McpServer, method: SharedMethod): boolean {
  try {
    server.assertCanSetRequestHandler(method)
    return false
  } catch {
    return true
  }
}
