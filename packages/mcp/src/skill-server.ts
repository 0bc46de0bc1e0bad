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

/** What every server object of one endpoint has in common; all state lives behind it. */
export interface SkillServerParts {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: ServedTools
  readonly source: RuntimeSkillSource
  readonly extension: SkillsExtension
  readonly ttlMs: number
  /** The conversation at the other end, when the connection lasts. It is told of changes with its next tool answer. */
  readonly session?: SkillSession
  /** Called after each call of a tool. */
  readonly onCall?: () => void
}

/** One server object; it can be thrown away at any time. `subscribed` receives the URIs of 2025-era subscriptions. */
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

/** Our definitions check their own input, so that a model's mistake is an answer with a way forward. */
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

/** The client ends a call, and is told how far it is when it has asked for that. */
function toContext({ mcpReq }: ServerContext): ToolContext {
  const { signal, _meta } = mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return { signal }
  let last = -Infinity
  const onProgress = ({ done, total, message }: ToolProgress): void => {
    // The protocol wants it to rise with each notification.
    if (!Number.isFinite(done) || done <= last) return
    last = done
    const params = {
      progressToken,
      progress: done,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    }
    // Of a client that is gone nobody has to know.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return { signal, onProgress }
}

/**
 * Returns the notice that goes along with an answer, if the answer is of the generation that the notice is about; otherwise a
 * later answer has it. A call that the client has ended has none.
 */
function noticeFor(
  session: SkillSession | undefined,
  { generation }: ToolResult,
  signal: AbortSignal,
): string | undefined {
  if (session === undefined || session.isClosed || signal.aborted) return undefined
  const offer = session.pending()
  if (offer?.digest !== generation) return undefined
  // In the same step, so that only one of two calls at the same time has it.
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

/** In place of the SDK's handlers, which cannot page and cannot say which revision an answer is of. */
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

/** 2025-era clients; 2026-era ones subscribe on a stream that the SDK serves. */
function serveSubscriptions(mcp: McpServer, subscribed: Set<string>): void {
  mcp.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (uri.length > MAX_URI_LENGTH) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `the URI has ${uri.length} characters; none of this server has more than ${MAX_URI_LENGTH}`,
      )
    }
    if (subscribed.size >= MAX_SUBSCRIPTIONS) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `this connection has ${MAX_SUBSCRIPTIONS} subscriptions, which is the most it may have`,
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
