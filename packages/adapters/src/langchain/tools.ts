import type { ToolDefinition, ToolInputSchema } from '@skillstoke/core'
import type { LangChainArtifact, LangChainGraphState } from './messages.ts'
import type { LangChainRuntime } from './threads.ts'

/** The part of LangChain's context of a tool call that the adapter uses. */
export interface LangChainToolRuntime extends LangChainRuntime {
  /** The state of the graph. */
  readonly state: unknown
  readonly toolCallId: string
  readonly signal?: AbortSignal | undefined
  readonly writer: ((chunk: unknown) => void) | null
}

/** The part of a tool call that the adapter uses. */
export interface LangChainToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly id?: string | undefined
}

/** The part of a LangChain tool that the adapter uses. */
interface LangChainTool {
  // A method, so that tools with typed input are assignable.
  invoke(call: LangChainToolCall & { readonly type: 'tool_call' }): Promise<object>
}

/** The function `tool` of LangChain. */
export type LangChainToolFactory<Tool> = (
  run: (input: unknown, runtime: LangChainToolRuntime) => Promise<[string, LangChainArtifact]>,
  fields: {
    readonly name: string
    readonly description: string
    readonly schema: ToolInputSchema
    readonly responseFormat: 'content_and_artifact'
  },
) => Tool

/** Creates the skill tools of an agent. `callTool` runs the tool of the conversation to which a call belongs. */
export function toLangChainTools<Tool>(
  definitions: readonly ToolDefinition[],
  tool: LangChainToolFactory<Tool>,
  callTool: (
    definition: ToolDefinition,
    input: unknown,
    runtime: LangChainToolRuntime,
  ) => Promise<[string, LangChainArtifact]>,
): Tool[] {
  return definitions.map(definition => {
    const { name, description, inputSchema } = definition
    const fields = { name, description, schema: inputSchema, responseFormat: 'content_and_artifact' } as const
    return tool(async (input, runtime) => await callTool(definition, input, runtime), fields)
  })
}

/** A hook of LangChain around a call. */
export type LangChainWrapper<Base> = <Request extends Base, Answer>(
  request: Request,
  handler: (request: Request) => Answer | Promise<Answer>,
) => Promise<Answer>

/** The part of the argument of `wrapToolCall` that the adapter uses. */
export interface LangChainToolRequest {
  readonly toolCall: LangChainToolCall
  /** The tool of the agent with this name. */
  readonly tool?: unknown
  readonly state: LangChainGraphState
  readonly runtime: LangChainRuntime
}

/**
 * Runs a tool call if there is no reason to refuse it. Otherwise, answers with the reason. LangChain ends the run when a tool
 * throws inside a middleware, so an error becomes the same answer that LangChain gives without a middleware.
 */
export async function gateCall<Request extends LangChainToolRequest, Answer>(
  request: Request,
  handler: (request: Request) => Answer | Promise<Answer>,
  refused: string | undefined,
  tool: LangChainToolFactory<unknown>,
): Promise<Answer> {
  const { toolCall } = request
  let refusal = refused
  try {
    if (refusal === undefined) return await handler(request)
  } catch (thrown) {
    if (isInterrupt(thrown)) throw thrown
    refusal = `${String(thrown)}\n Please fix your mistakes.`
  }
  return (await toErrorMessage(toolCall, refusal, tool)) as Answer
}

/** Returns a tool message of LangChain. Only a tool can create such a message without an import of LangChain. */
async function toErrorMessage(
  { name, id }: LangChainToolCall,
  text: string,
  tool: LangChainToolFactory<unknown>,
): Promise<object> {
  const schema = { type: 'object' as const, properties: {}, required: [], additionalProperties: true }
  const responder = tool(() => Promise.resolve([text, { isError: true }]), {
    ...{ name, description: 'Answers a call that failed.', schema },
    responseFormat: 'content_and_artifact',
  })
  const message = await (responder as LangChainTool).invoke({ name, args: {}, id, type: 'tool_call' })
  // LangChain ends the run after a successful call of a tool with `returnDirect`.
  return Object.assign(message, { status: 'error' })
}

/** True for a control signal of LangGraph, for example the interrupt with which a tool asks a person. */
function isInterrupt(thrown: unknown): boolean {
  return (thrown as { readonly is_bubble_up?: boolean } | undefined)?.is_bubble_up === true
}
