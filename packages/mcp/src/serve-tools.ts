import {
  CLIENT_INFO_META_KEY,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import type { SkillSession, ToolContext, ToolDefinition, ToolProgress, ToolResult } from '@skillstoke/core'
import { defined, quote, TOOL_NAMES } from '@skillstoke/core/internal'
import type { AttachedParts } from './attach-skills.ts'
import { confirmRun } from './confirm-run.ts'
import { addToFirstAnswer } from './first-answer.ts'
import { type HostHandlers, listOfHost, passToHost } from './host-handlers.ts'
import type { SeenClient } from './mcp-options.ts'
import type { ServedTool } from './served-tools.ts'
import { describeAsking, splitSince, withSince } from './since-field.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'

/** The constant tools that run scripts. */
const SCRIPTS: readonly string[] = [TOOL_NAMES.runCommand, TOOL_NAMES.runScript]

const TOOLS = ['tools/list', 'tools'] as const

/**
 * Handles tool calls without the input checks of the SDK, because each tool checks its input and explains mistakes to
 * the model.
 */
export function serveTools(mcp: McpServer, parts: AttachedParts, host: HostHandlers): void {
  const { session, options, tools, trace } = parts
  const addFirst = addToFirstAnswer(parts)
  const seen = (context: ServerContext, loaded?: string): void =>
    options.onSessionChange?.(defined({ session: session?.id, client: describeClient(mcp, context), loaded }))
  mcp.server.setRequestHandler('tools/list', async (request, context) => {
    seen(context)
    const own = (await tools.list()).map(toWireTool)
    const names = new Set(own.map(({ name }) => name))
    const others: Tool[] = []
    for (const tool of await listOfHost<Tool>(host, TOOLS, request, context)) {
      if (names.has(tool.name))
        parts.warnOnce(`the tool ${quote(tool.name)} is hidden by the tool of the skills`)
      else others.push(tool)
    }
    return { tools: [...own, ...others] }
  })
  mcp.server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: given } = request.params
    const tool = await tools.find(name)
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, await tools.describeUnknown(name))
    const { since, input } = splitSince(tool, given)
    const needsPerson = options.confirmScripts && (tool.isCommand || SCRIPTS.includes(name))
    const asked = needsPerson ? confirmRun(mcp, context, name, input) : undefined
    if (typeof asked === 'object') return asked
    return await trace.call('tools/call', { name, context, client: clientOf(mcp, context) }, async report => {
      const result: ToolResult =
        asked === undefined ? await tool.execute(input, toContext(context)) : { text: asked, isError: true }
      report(result)
      const texts = [
        result.text,
        ...addFirst(tool, input, result),
        ...(session === undefined && since === undefined ? describeAsking(tool, result) : []),
        ...describeSince(parts, since, result),
        ...noticeFor(session, result, context.mcpReq.signal),
        ...(context.mcpReq.signal.aborted ? [] : describeLoads(mcp, parts, tool, result)),
      ]
      seen(context, tool.name === TOOL_NAMES.loadSkill && !result.isError ? result.skill : undefined)
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
  passToHost(mcp, 'tools/call', host, async ({ name }, context) => {
    if ((await tools.find(name)) !== undefined) return true
    return !(await listOfHost<Tool>(host, TOOLS, {}, context)).some(tool => tool.name === name)
  })
}

/** Reports the changes of what a recognised client without a session has loaded, and records what it loads now. */
function describeLoads(
  mcp: McpServer,
  { loads }: AttachedParts,
  { name: tool }: ToolDefinition,
  { skill, revision, isError }: ToolResult,
): string[] {
  const client = loads === undefined ? undefined : nameClient(mcp, loads)
  if (loads === undefined || client === undefined) return []
  if (tool === TOOL_NAMES.loadSkill && !isError && skill !== undefined && revision !== undefined)
    loads.memory.record(client, skill, revision)
  return loads.memory.describeChanges(client)
}

/** Names a client by its token and by what it says about itself; `undefined` if it has no token. */
export function nameClient(
  mcp: McpServer,
  { owner }: NonNullable<AttachedParts['loads']>,
): string | undefined {
  const { name = '', version = '' } = mcp.server.getClientVersion() ?? {}
  return owner === '' ? undefined : JSON.stringify([owner, name, version])
}

/** Returns the id of an authenticated client, otherwise the name that the client gives itself. */
export function clientOf(mcp: McpServer, context: ServerContext): string | undefined {
  return context.http?.authInfo?.clientId ?? describeClient(mcp, context)?.name
}

/** Returns what a client says about itself. */
function describeClient(mcp: McpServer, { mcpReq }: ServerContext): SeenClient['client'] {
  // Since 2026-07-28, a client names itself in the envelope of each request. The types of the SDK leave the field out.
  const envelope = mcpReq.envelope as Partial<Record<string, SeenClient['client']>> | undefined
  const { name, version } = mcp.server.getClientVersion() ?? envelope?.[CLIENT_INFO_META_KEY] ?? {}
  return name === undefined || version === undefined ? undefined : { name, version }
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
  return since === undefined || generation === undefined ? [] : [recent.describe(since, reader, skill)]
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
    const params = { progressToken, progress: done, ...defined({ total, message }) }
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

function toWireTool(tool: ServedTool): Tool {
  const { name, description, hints, title } = tool
  return {
    name,
    ...defined({ title }),
    description,
    inputSchema: withSince(tool),
    annotations:
      hints === undefined
        ? { readOnlyHint: true, openWorldHint: false }
        : defined({
            readOnlyHint: hints.readOnly,
            destructiveHint: hints.destructive,
            idempotentHint: hints.idempotent,
            openWorldHint: hints.openWorld,
          }),
  }
}

function toMeta({ generation, revision }: ToolResult): Record<string, string> {
  return defined({ [GENERATION_META_KEY]: generation, [REVISION_META_KEY]: revision })
}
