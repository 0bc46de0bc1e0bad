import type { ToolDefinition, ToolResult } from '@skillstoke/core'
import { defined, showValue, toMessage } from '@skillstoke/core/internal'

/** A JSON-RPC message of the Model Context Protocol, as the SDK sends it. */
interface McpMessage {
  readonly id?: string | number
  readonly method?: string
  readonly params?: McpParams
}

interface McpParams {
  readonly protocolVersion?: string
  readonly name?: string
  readonly arguments?: unknown
  readonly requestId?: string | number
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** The part of the SDK's transport that the server uses. The server also sets `onmessage` and `onclose`. */
interface McpTransport {
  start(): Promise<void>
  send(message: object): Promise<void>
}

/** A call of a tool. `toolUseId` is the id that the model gave to the call. */
export interface SkillCall {
  readonly name: string
  readonly input: unknown
  readonly toolUseId: string | undefined
  readonly signal: AbortSignal
}

const METHOD_NOT_FOUND = -32_601
const SERVER = { capabilities: { tools: {} }, serverInfo: { name: 'skillstoke', version: '1.0.0' } }

/** An MCP server for the SDK that runs in the process of the host and offers the skill tools. */
export class SkillServer {
  readonly #listTools: () => readonly ToolDefinition[]
  readonly #execute: (call: SkillCall) => Promise<ToolResult>

  constructor(listTools: () => readonly ToolDefinition[], execute: (call: SkillCall) => Promise<ToolResult>) {
    this.#listTools = listTools
    this.#execute = execute
  }

  /** Called by the SDK, once for each `query()`. */
  async connect(transport: McpTransport): Promise<void> {
    const calls = new Map<string | number, AbortController>()
    Object.assign(transport, {
      onmessage: (message: McpMessage) => void this.#receive(message, transport, calls),
      onclose: () => {
        for (const call of calls.values()) call.abort()
      },
    })
    await transport.start()
  }

  async #receive(
    { id, method, params = {} }: McpMessage,
    transport: McpTransport,
    calls: Map<string | number, AbortController>,
  ): Promise<void> {
    if (method === 'notifications/cancelled' && params.requestId !== undefined)
      calls.get(params.requestId)?.abort()
    if (id === undefined) return
    const controller = new AbortController()
    calls.set(id, controller)
    const answer = await this.#answer(method, params, controller.signal)
    calls.delete(id)
    // A cancelled request gets no answer.
    if (controller.signal.aborted) return
    // The transport is closed when the query has ended.
    await transport.send({ jsonrpc: '2.0', id, ...answer }).catch(() => undefined)
  }

  async #answer(method: string | undefined, params: McpParams, signal: AbortSignal): Promise<object> {
    switch (method) {
      case 'initialize':
        return { result: { protocolVersion: params.protocolVersion, ...SERVER } }
      case 'ping':
        return { result: {} }
      case 'tools/list':
        return { result: { tools: this.#listTools().map(toMcpTool) } }
      case 'tools/call':
        return { result: await this.#call(params, signal) }
      default:
        return { error: { code: METHOD_NOT_FOUND, message: `there is no method ${showValue(method)}` } }
    }
  }

  async #call({ name = '', arguments: input, _meta: meta }: McpParams, signal: AbortSignal): Promise<object> {
    const id = meta?.['claudecode/toolUseId']
    const toolUseId = typeof id === 'string' ? id : undefined
    const { text, isError } = await this.#execute({ name, input, toolUseId, signal }).catch(
      (thrown: unknown) => ({ text: toMessage(thrown), isError: true }),
    )
    return { content: [{ type: 'text', text }], isError }
  }
}

function toMcpTool({ name, description, inputSchema, hints = {} }: ToolDefinition): object {
  const { readOnly = true, openWorld = false } = hints
  return {
    name,
    description,
    inputSchema,
    annotations: {
      ...{ readOnlyHint: readOnly, openWorldHint: openWorld },
      ...defined({ destructiveHint: hints.destructive, idempotentHint: hints.idempotent }),
    },
    // Otherwise Claude Code lists only the names of the tools, and the model must search for them first.
    _meta: { 'anthropic/alwaysLoad': true },
  }
}
