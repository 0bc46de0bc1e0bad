import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ServerContext,
  type ToolAnnotations,
} from '@modelcontextprotocol/server'
import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { SkillSession, ToolContext, ToolDefinition, ToolResult } from '@skillstoke/core'
import type { ToolProgress } from '@skillstoke/core/types'
import type { RuntimeSkillSource } from './runtime-skill-source.ts'
import type { ServedTools } from './served-tools.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'

/** Objects and settings that all server objects of one endpoint share. A server object has no other state. */
export interface SkillServerParts {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: ServedTools
  readonly source: RuntimeSkillSource
  readonly extension: SkillsExtension
  readonly ttlMs: number
  /**
   * The conversation of the client, if the connection is permanent. Tool answers also contain the notices of this
   * conversation.
   */
  readonly session?: SkillSession
  /** Called after each tool call of the client. */
  readonly onCall?: () => void
}

/**
 * Creates a server object. A server object has no state, so it can be discarded at any time.
 * @param subscribed receives the URIs of 2025-era subscriptions
 */
export function createSkillServer(parts: SkillServerParts, subscribed: Set<string>): McpServer {
  const cacheHint = { ttlMs: parts.ttlMs, cacheScope: 'private' } as const
  const mcp = new McpServer(
    { name: parts.name, title: 'Skillstoke', version: parts.version },
    {
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } },
      instructions: parts.instructions,
      cacheHints: { 'resources/list': cacheHint, 'resources/read': cacheHint },
    },
  )
  parts.extension.attach(mcp)
  serveTools(mcp, parts)
  serveResources(mcp, parts.source)
  serveSubscriptions(mcp, subscribed)
  return mcp
}

/**
 * Handles tool calls without the input checks of the SDK, because each tool checks its input and explains mistakes to
 * the model.
 */
function serveTools(mcp: McpServer, parts: SkillServerParts): void {
  const { session, onCall, tools } = parts
  mcp.server.setRequestHandler('tools/list', async () => ({ tools: (await tools.list()).map(toWireTool) }))
  mcp.server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = await tools.find(params.name)
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, await tools.describeUnknown(params.name))
    const result = await tool.execute(params.arguments, toContext(context))
    const notice = noticeFor(session, result, context.mcpReq.signal)
    onCall?.()
    return {
      content: [result.text, ...(notice === undefined ? [] : [notice])].map(text => ({
        type: 'text' as const,
        text,
      })),
      isError: result.isError,
      _meta: toMeta(result),
    }
  })
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
 * Returns the notice to append to an answer, or `undefined` if the notice and the answer come from different
 * generations. In this case, a later answer contains the notice. The answer to a cancelled call gets no notice.
 */
function noticeFor(
  session: SkillSession | undefined,
  { generation }: ToolResult,
  signal: AbortSignal,
): string | undefined {
  if (session === undefined || session.isClosed || signal.aborted) return undefined
  const offer = session.pending()
  if (offer?.digest !== generation) return undefined
  // Commits the notice synchronously, so that only one of two concurrent calls gets the notice.
  offer?.commit()
  return offer?.text
}

function toWireTool({ name, description, inputSchema, hints }: ToolDefinition): {
  name: string
  description: string
  inputSchema: { type: 'object' }
  annotations: ToolAnnotations
} {
  return {
    name,
    description,
    inputSchema,
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

/**
 * Replaces the resource handlers of the SDK, because these handlers support neither pages nor metadata about revisions.
 */
function serveResources(mcp: McpServer, source: RuntimeSkillSource): void {
  mcp.server.setRequestHandler('resources/list', async ({ params }) => {
    const { generation, ...page } = await source.listManifests(params?.cursor)
    return { ...page, _meta: { [GENERATION_META_KEY]: generation.digest } }
  })
  mcp.server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const reading = await source.readFile(uri)
    if (reading === undefined) throw new ResourceNotFoundError(uri)
    const { content, skill, generation } = reading
    const { mimeType } = content
    const body =
      'text' in content ? { text: content.text } : { blob: Buffer.from(content.bytes).toString('base64') }
    const _meta = { [REVISION_META_KEY]: skill.revision, [GENERATION_META_KEY]: generation.digest }
    return { contents: [{ uri, ...(mimeType === undefined ? {} : { mimeType }), ...body, _meta }] }
  })
}

const MAX_SUBSCRIPTIONS = 1_000
const MAX_URI_LENGTH = 4_096

/** Serves subscriptions of 2025-era clients. The SDK serves the subscriptions of 2026-era clients. */
function serveSubscriptions(mcp: McpServer, subscribed: Set<string>): void {
  mcp.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
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
    subscribed.add(uri)
    return {}
  })
  mcp.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })
}
