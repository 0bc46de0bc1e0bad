import {
  type CallToolResult,
  type McpServer,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { SKILLS_EXTENSION_ID, type SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { SkillReader, SkillSession, ToolContext, ToolDefinition, ToolResult } from '@skillstoke/core'
import type { ToolProgress } from '@skillstoke/core/types'
import { FirstAnswer } from './first-answer.ts'
import { type RequestHandler, type SharedMethod, takeHostHandlers } from './host-handlers.ts'
import type { RecentGenerations } from './recent-generations.ts'
import type { RequestTrace } from './request-trace.ts'
import type { RuntimeSkillSource } from './runtime-skill-source.ts'
import type { ServedTools } from './served-tools.ts'
import { splitSince, withSince } from './since-field.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
import { type ExpandSkill, type SkillPrompts, toCompletion } from './skill-prompts.ts'

/** Objects and settings that all server objects of one view share. A server object has no other state. */
export interface AttachedParts {
  readonly tools: ServedTools
  readonly prompts: SkillPrompts
  readonly source: RuntimeSkillSource
  readonly extension: SkillsExtension
  readonly reader: SkillReader
  readonly recent: RecentGenerations
  readonly expand: ExpandSkill
  readonly trace: RequestTrace
  /**
   * The conversation of the client, if the connection is permanent. Tool answers also contain the notices of this
   * conversation.
   */
  readonly session?: SkillSession
  /** Whether the connection continues a conversation whose knowledge is lost. */
  readonly isContinued: boolean
  /** Called after each tool call of the client. */
  readonly onCall?: () => void
  readonly warn: (message: string) => void
}

type HostHandlers = ReadonlyMap<SharedMethod, RequestHandler>

/** The template of the addresses of all files. `path` may contain slashes. */
const URI_TEMPLATE = 'skill://{name}/{+path}'

/**
 * Adds tools, prompts, resources and the Skills extension to a server object, beside what its host registers. The server
 * object keeps no state, so it can be discarded at any time.
 * @param subscribed receives the URIs of 2025-era subscriptions
 * @throws {SkillError} INVALID_OPTION when the server has request handlers that cannot be found
 */
export function attachSkills(mcp: McpServer, parts: AttachedParts, subscribed: Set<string>): void {
  const host = takeHostHandlers(mcp)
  mcp.server.registerCapabilities({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
  })
  parts.extension.attach(mcp)
  serveTools(mcp, parts, host)
  servePrompts(mcp, parts, host)
  serveResources(mcp, parts, host)
  serveCompletions(mcp, parts, host)
  serveSubscriptions(mcp, subscribed, host)
}

interface AnyRequest {
  readonly params?: { readonly _meta?: unknown } | undefined
}

/** Returns all pages of what the host lists; an empty list if it lists nothing. */
async function listOfHost<T>(
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

const TOOLS = ['tools/list', 'tools'] as const
const PROMPTS = ['prompts/list', 'prompts'] as const
const RESOURCES = ['resources/list', 'resources'] as const
const TEMPLATES = ['resources/templates/list', 'resourceTemplates'] as const

/**
 * Handles tool calls without the input checks of the SDK, because each tool checks its input and explains mistakes to
 * the model.
 */
function serveTools(mcp: McpServer, parts: AttachedParts, host: HostHandlers): void {
  const { session, onCall, tools, trace } = parts
  const first = new FirstAnswer(parts)
  mcp.server.setRequestHandler('tools/list', async (request, context) => {
    const own = (await tools.list()).map(toWireTool)
    const names = new Set(own.map(({ name }) => name))
    const others: Tool[] = []
    for (const tool of await listOfHost<Tool>(host, TOOLS, request, context)) {
      if (names.has(tool.name))
        parts.warn(`the tool ${JSON.stringify(tool.name)} is hidden by the tool of the skills`)
      else others.push(tool)
    }
    return { tools: [...own, ...others] }
  })
  mcp.server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: given } = request.params
    const tool = await tools.find(name)
    if (tool === undefined) {
      const others = await listOfHost<Tool>(host, TOOLS, request, context)
      if (others.some(other => other.name === name))
        return (await host.get('tools/call')?.(request, context)) as CallToolResult
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, await tools.describeUnknown(name))
    }
    return await trace.call('tools/call', { name, context, client: clientOf(mcp, context) }, async report => {
      const { since, input } = splitSince(tool, given)
      const result = await tool.execute(input, toContext(context))
      report(result)
      const texts = [
        result.text,
        ...first.add(tool, input, result),
        ...describeSince(parts, since, result),
        ...noticeFor(session, result, context.mcpReq.signal),
      ]
      onCall?.()
      return {
        content: texts.map(text => ({ type: 'text' as const, text: endLine(text) })),
        isError: result.isError,
        // Several hosts show the model only the structured content, so it must not hide another text.
        ...(result.structured === undefined || texts.length > 1
          ? {}
          : { structuredContent: { ...result.structured } }),
        _meta: toMeta(result),
      }
    })
  })
}

/** Returns the id of an authenticated client, otherwise the name that the client gives itself. */
function clientOf(mcp: McpServer, { http }: ServerContext): string | undefined {
  return http?.authInfo?.clientId ?? mcp.server.getClientVersion()?.name
}

/** Ends a text with a line break, because some hosts join the texts of an answer without a separator. */
function endLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Answers the question of `since`, if the call has one and the tool could answer. */
function describeSince(
  { reader, recent }: AttachedParts,
  since: string | undefined,
  { skill, generation }: ToolResult,
): string[] {
  if (since === undefined || generation === undefined) return []
  const { current: now, isInScope } = reader
  return [
    recent.describe({ since, now, isInScope, skill: skill === undefined ? undefined : now.find(skill) }),
  ]
}

/**
 * If a request is cancelled, the signal of the tool aborts. Progress of the tool is sent only to a client that
 * requested progress.
 */
function toContext({ mcpReq }: ServerContext): ToolContext {
  const { signal, _meta } = mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return { signal }
  let last = -Infinity
  const onProgress = ({ done, total, message }: ToolProgress): void => {
    // Skips a progress report whose value did not increase, because the protocol requires a higher value in each
    // notification.
    if (!Number.isFinite(done) || done <= last) return
    last = done
    const params = {
      progressToken,
      progress: done,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    }
    // Ignores failures, because a client that has disconnected needs no progress.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return { signal, onProgress }
}

/**
 * Returns the notice to append to an answer. Returns nothing if the notice and the answer come from different
 * generations. In this case, a later answer contains the notice. The answer to a cancelled call gets no notice.
 */
function noticeFor(
  session: SkillSession | undefined,
  { generation }: ToolResult,
  signal: AbortSignal,
): string[] {
  if (session === undefined || session.isClosed || signal.aborted) return []
  const offer = session.pending()
  if (offer?.digest !== generation || offer === undefined) return []
  // Commits the notice synchronously, so that only one of two concurrent calls gets the notice.
  offer.commit()
  return [offer.text]
}

function toWireTool(tool: ToolDefinition): Tool {
  const { name, description, hints } = tool
  return {
    name,
    description,
    inputSchema: withSince(tool),
    annotations:
      hints === undefined
        ? { readOnlyHint: true, openWorldHint: false }
        : {
            ...(hints.readOnly === undefined ? {} : { readOnlyHint: hints.readOnly }),
            ...(hints.destructive === undefined ? {} : { destructiveHint: hints.destructive }),
            ...(hints.idempotent === undefined ? {} : { idempotentHint: hints.idempotent }),
            ...(hints.openWorld === undefined ? {} : { openWorldHint: hints.openWorld }),
          },
  }
}

function toMeta({ generation, revision }: ToolResult): Record<string, string> {
  return {
    ...(generation === undefined ? {} : { [GENERATION_META_KEY]: generation }),
    ...(revision === undefined ? {} : { [REVISION_META_KEY]: revision }),
  }
}

function servePrompts(mcp: McpServer, { prompts, expand, trace }: AttachedParts, host: HostHandlers): void {
  mcp.server.setRequestHandler('prompts/list', async (request, context) => {
    const { generation, ...page } = await prompts.list(request.params?.cursor)
    const isFirst = request.params?.cursor === undefined
    const others = await listOfHost<Prompt>(host, PROMPTS, request, context)
    const hidden = new Set(others.map(({ name }) => name))
    return {
      ...page,
      prompts: [...(isFirst ? others : []), ...page.prompts.filter(({ name }) => !hidden.has(name))],
      _meta: { [GENERATION_META_KEY]: generation.digest },
    }
  })
  mcp.server.setRequestHandler('prompts/get', async (request, context) => {
    const { name, arguments: given = {} } = request.params
    const others = await listOfHost<Prompt>(host, PROMPTS, request, context)
    if (others.some(other => other.name === name))
      return (await host.get('prompts/get')?.(request, context)) as never
    return await trace.call(
      'prompts/get',
      { name, context, client: clientOf(mcp, context) },
      async report => {
        const answer = await prompts.get(name, given, expand)
        if (answer === undefined)
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, prompts.describeUnknown(name))
        report({ skill: name, revision: String(answer._meta?.[REVISION_META_KEY]) })
        return answer
      },
    )
  })
}

/** Whether a URI belongs to the skills. */
function isSkillScheme(uri: string): boolean {
  return /^skill:\/\//i.test(uri)
}

/**
 * Replaces the resource handlers of the SDK, because these handlers support neither pages nor metadata about revisions.
 */
function serveResources(mcp: McpServer, { source, trace }: AttachedParts, host: HostHandlers): void {
  mcp.server.setRequestHandler('resources/list', async (request, context) => {
    const { generation, ...page } = await source.listManifests(request.params?.cursor)
    const isFirst = request.params?.cursor === undefined
    const others = isFirst ? await listOfHost<{ uri: string }>(host, RESOURCES, request, context) : []
    return {
      ...page,
      // The skills answer all requests for `skill://`, so a client could not read such a resource of the host.
      resources: [...others.filter(({ uri }) => !isSkillScheme(uri)), ...page.resources] as never,
      _meta: { [GENERATION_META_KEY]: generation.digest },
    }
  })
  mcp.server.setRequestHandler('resources/templates/list', async (request, context) => {
    const templates = await listOfHost<{ name: string; uriTemplate: string }>(
      host,
      TEMPLATES,
      request,
      context,
    )
    const own = {
      name: SKILLS_EXTENSION_ID,
      title: 'File of a skill',
      uriTemplate: URI_TEMPLATE,
      description: 'A file of a skill at its newest revision, for example skill://refund/SKILL.md',
    }
    // Leaves out the template of the extension, which has no variables that a client could complete.
    return {
      resourceTemplates: [
        own,
        ...templates.filter(each => each.name !== SKILLS_EXTENSION_ID && each.uriTemplate !== URI_TEMPLATE),
      ],
    }
  })
  mcp.server.setRequestHandler('resources/read', async (request, context) => {
    const { uri } = request.params
    if (!isSkillScheme(uri)) {
      const read = host.get('resources/read')
      if (read === undefined) throw new ResourceNotFoundError(uri)
      return (await read(request, context)) as never
    }
    return await trace.call(
      'resources/read',
      { name: uri, context, client: clientOf(mcp, context) },
      async report => {
        const reading = await source.readFile(uri)
        if (reading === undefined) throw new ResourceNotFoundError(uri)
        const { content, skill, generation } = reading
        report({ skill: skill.name, revision: skill.revision })
        const { mimeType } = content
        const body =
          'text' in content ? { text: content.text } : { blob: Buffer.from(content.bytes).toString('base64') }
        const _meta = { [REVISION_META_KEY]: skill.revision, [GENERATION_META_KEY]: generation.digest }
        return { contents: [{ uri, ...(mimeType === undefined ? {} : { mimeType }), ...body, _meta }] }
      },
    )
  })
}

function serveCompletions(mcp: McpServer, { prompts, source }: AttachedParts, host: HostHandlers): void {
  mcp.server.setRequestHandler('completion/complete', async (request, context) => {
    const { ref, argument, context: known } = request.params
    if (ref.type === 'ref/resource' && ref.uri === URI_TEMPLATE)
      return toCompletion(source.completeUri(argument.name, argument.value, known?.arguments ?? {}))
    const choices =
      ref.type === 'ref/prompt' ? prompts.complete(ref.name, argument.name, argument.value) : undefined
    if (choices !== undefined) return toCompletion(choices)
    return (await host.get('completion/complete')?.(request, context)) as never
  })
}

const MAX_SUBSCRIPTIONS = 1_000
const MAX_URI_LENGTH = 4_096

/**
 * Serves subscriptions of 2025-era clients, and passes the subscriptions of other resources to the host. The SDK serves
 * the subscriptions of 2026-era clients.
 */
function serveSubscriptions(mcp: McpServer, subscribed: Set<string>, host: HostHandlers): void {
  mcp.server.setRequestHandler('resources/subscribe', async (request, context) => {
    const { uri } = request.params
    if (uri.length > MAX_URI_LENGTH) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `the URI has ${uri.length} characters; at most ${MAX_URI_LENGTH} are allowed`,
      )
    }
    if (subscribed.size >= MAX_SUBSCRIPTIONS) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `this connection has ${MAX_SUBSCRIPTIONS} subscriptions, which is the limit`,
      )
    }
    if (!isSkillScheme(uri)) await host.get('resources/subscribe')?.(request, context)
    subscribed.add(uri)
    return {}
  })
  mcp.server.setRequestHandler('resources/unsubscribe', async (request, context) => {
    const { uri } = request.params
    if (!isSkillScheme(uri)) await host.get('resources/unsubscribe')?.(request, context)
    subscribed.delete(uri)
    return {}
  })
}
