import { type McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { SkillError } from '@skillstoke/core'

/** Answers one kind of request. */
export type RequestHandler = (request: unknown, context: ServerContext) => unknown

const SHARED_METHODS = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
] as const

/** The requests that both a host and the skills answer. */
export type SharedMethod = (typeof SHARED_METHODS)[number]

const SETUP_NAME = 'skillstoke-setup'

/**
 * Returns the handlers that serve what a host registers on its `McpServer`, now and later, so that other handlers can
 * be installed and ask these handlers.
 * @throws {SkillError} INVALID_OPTION when the handlers of the host cannot be found
 */
export function takeHostHandlers(mcp: McpServer): ReadonlyMap<SharedMethod, RequestHandler> {
  const { server } = mcp
  const handlers = new Map<SharedMethod, RequestHandler>()
  for (const method of SHARED_METHODS) {
    if (isHandled(mcp, method)) handlers.set(method, findInstalled(mcp, method))
  }
  const own = server as { setRequestHandler: (method: SharedMethod, handler: RequestHandler) => void }
  own.setRequestHandler = (method, handler) => void handlers.set(method, handler)
  try {
    // McpServer creates its handlers when the first tool, prompt or template is registered. These registrations are
    // removed at once, so nothing of them is ever served.
    if (!handlers.has('tools/list')) mcp.registerTool(SETUP_NAME, {}, () => ({ content: [] })).remove()
    if (!handlers.has('prompts/list')) mcp.registerPrompt(SETUP_NAME, {}, () => ({ messages: [] })).remove()
    if (!(handlers.has('resources/list') && handlers.has('completion/complete'))) {
      const complete = handlers.has('completion/complete') ? {} : { complete: { path: () => [] } }
      const template = new ResourceTemplate(`${SETUP_NAME}:{path}`, { list: undefined, ...complete })
      mcp.registerResource(SETUP_NAME, template, {}, () => ({ contents: [] })).remove()
    }
  } finally {
    // Removes the override, which restores the method of the class.
    Reflect.deleteProperty(server, 'setRequestHandler')
  }
  return handlers
}

function isHandled({ server }: McpServer, method: SharedMethod): boolean {
  try {
    server.assertCanSetRequestHandler(method)
    return false
  } catch {
    return true
  }
}

/** Reads a handler that the server already has. The SDK has no public method for this. */
function findInstalled({ server }: McpServer, method: SharedMethod): RequestHandler {
  const installed: unknown = Reflect.get(server, '_requestHandlers')
  const handler: unknown = installed instanceof Map ? installed.get(method) : undefined
  if (typeof handler === 'function') return handler as RequestHandler
  throw new SkillError(
    'INVALID_OPTION',
    `the MCP server already answers "${method}", and this version of the MCP SDK does not tell how; add the skills right after "new McpServer(...)", before registering tools, and leave "tools", "resources" and "prompts" out of its "capabilities"`,
  )
}
