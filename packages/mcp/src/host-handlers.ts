import { type McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'

/** Answers one kind of request. */
export type RequestHandler = (request: unknown, context: ServerContext) => unknown

/** The requests that both a host and the skills answer. */
export const SHARED_METHODS = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
] as const

export type SharedMethod = (typeof SHARED_METHODS)[number]

const SETUP_NAME = 'skillstoke-setup'

/**
 * Creates the request handlers of an `McpServer`, which serve what the host registers on it, and returns them instead
 * of installing them. So the caller can install handlers that serve skills and then ask these handlers.
 * @throws {SkillError} INVALID_OPTION when the server already has such handlers
 */
export function takeHostHandlers(mcp: McpServer): ReadonlyMap<SharedMethod, RequestHandler> {
  const { server } = mcp
  try {
    for (const method of SHARED_METHODS) server.assertCanSetRequestHandler(method)
  } catch (thrown) {
    throw new SkillError(
      'INVALID_OPTION',
      `the MCP server already answers requests that skills need (${toMessage(thrown)}); call attach() right after "new McpServer(...)", before registering tools, and leave "tools", "resources" and "prompts" out of its "capabilities"`,
    )
  }
  const handlers = new Map<SharedMethod, RequestHandler>()
  const own = server as { setRequestHandler: (method: SharedMethod, handler: RequestHandler) => void }
  own.setRequestHandler = (method, handler) => void handlers.set(method, handler)
  try {
    // McpServer creates its handlers when the first tool, prompt or template is registered.
    mcp.registerTool(SETUP_NAME, {}, () => ({ content: [] })).remove()
    mcp.registerPrompt(SETUP_NAME, {}, () => ({ messages: [] })).remove()
    const complete = { path: () => [] }
    const template = new ResourceTemplate(`${SETUP_NAME}:{path}`, { list: undefined, complete })
    mcp.registerResource(SETUP_NAME, template, {}, () => ({ contents: [] })).remove()
  } finally {
    // Removes the override, which restores the method of the class.
    Reflect.deleteProperty(server, 'setRequestHandler')
  }
  return handlers
}
