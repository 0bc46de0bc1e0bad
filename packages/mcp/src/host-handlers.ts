import { type McpServer, ResourceTemplate, type ServerContext } from '@modelcontextprotocol/server'
import { SkillError } from '@skillstoke/core'

/** Answers one kind of request. */
export type RequestHandler = (request: never, context: ServerContext) => unknown

/** The requests that both a host and the skills answer. */
const SHARED = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
] as const

export type SharedMethod = (typeof SHARED)[number]

/** The handlers of a host, by the requests that they answer. */
export type HostHandlers = ReadonlyMap<SharedMethod, RequestHandler>

const SETUP_NAME = 'skillstoke-setup'

/**
 * Removes and returns the handlers that serve what a host registers on its `McpServer`, now and later, and the handlers
 * that the host set itself, so that other handlers can be installed and ask these handlers.
 * @throws {SkillError} INVALID_OPTION when the handlers of the host cannot be found
 */
export function takeHostHandlers(mcp: McpServer): HostHandlers {
  const installed = handlersOf(mcp)
  // McpServer creates its handlers when the first tool, prompt or template is registered. These registrations are
  // removed at once, so nothing of them is ever served.
  if (!installed.has('tools/list') && !installed.has('tools/call'))
    mcp.registerTool(SETUP_NAME, {}, () => ({ content: [] })).remove()
  if (!installed.has('prompts/list') && !installed.has('prompts/get'))
    mcp.registerPrompt(SETUP_NAME, {}, () => ({ messages: [] })).remove()
  const hasResources = installed.has('resources/list') || installed.has('resources/read')
  const hasCompletions = installed.has('completion/complete')
  // McpServer notes in this field that it answers for the resources itself.
  if (!hasResources || (!hasCompletions && Reflect.get(mcp, '_resourceHandlersInitialized') === true)) {
    const complete = hasCompletions ? {} : { complete: { path: () => [] } }
    const template = new ResourceTemplate(`${SETUP_NAME}:{path}`, { list: undefined, ...complete })
    mcp.registerResource(SETUP_NAME, template, {}, () => ({ contents: [] })).remove()
  }
  const taken = new Map<SharedMethod, RequestHandler>()
  for (const method of SHARED) {
    const handler = installed.get(method)
    if (handler !== undefined) taken.set(method, handler)
    mcp.server.removeRequestHandler(method)
  }
  return taken
}

interface Named {
  readonly name: string
  readonly uri: string
}

/**
 * Makes the handler of a host answer the requests that do not belong to the skills. The handler of the skills must be
 * installed before. The SDK lets a handler ask the client for input, so the handler of the host must not run inside another
 * one.
 */
export function passToHost(
  mcp: McpServer,
  method: SharedMethod,
  host: HostHandlers,
  isOurs: (params: Named, context: ServerContext) => boolean | Promise<boolean>,
): void {
  const [ours, theirs] = [handlersOf(mcp).get(method), host.get(method)]
  if (ours === undefined || theirs === undefined) return
  handlersOf(mcp).set(method, async (request: never, context) => {
    // The handlers check the request, so its fields may be missing here.
    const { params = {} as Named } = request as { readonly params?: Named }
    return await ((await isOurs(params, context)) ? ours : theirs)(request, context)
  })
}

/** The SDK has no method that returns the installed handlers. */
function handlersOf({ server }: McpServer): Map<string, RequestHandler> {
  const installed: unknown = Reflect.get(server, '_requestHandlers')
  if (installed instanceof Map) return installed as Map<string, RequestHandler>
  throw new SkillError(
    'INVALID_OPTION',
    'this version of the MCP SDK does not expose the handlers of a server, so the skills cannot be added to it',
  )
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
    const answer = (await host.get(method)?.(asked as never, context)) as Record<string, unknown> | undefined
    listed.push(...((answer?.[field] ?? []) as T[]))
    cursor = answer?.['nextCursor']
    if (cursor === undefined) break
  }
  return listed
}

const MAX_HOST_PAGES = 100
