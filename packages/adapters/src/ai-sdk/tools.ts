import type { SkillSession, ToolContext, ToolDefinition, ToolProgress, ToolResult } from '@skillstoke/core'
import {
  followCall,
  type ModelOutput,
  type StandardInputSchema,
  toModelOutput,
  toStandardSchema,
} from '../skill-tools.ts'

/** The output of a tool call for the AI SDK: the final answer or, in preliminary results, the newest progress. */
interface AiToolOutput extends ToolResult {
  /** Only in preliminary results. */
  readonly progress?: ToolProgress
}

/** The part of the AI SDK's context of a call that tools use. */
interface AiToolCall {
  readonly abortSignal?: AbortSignal | undefined
  readonly toolCallId?: string | undefined
}

/** A tool for `generateText`, `streamText` and `ToolLoopAgent` of the AI SDK. */
export interface AiTool {
  readonly type: 'dynamic'
  readonly description: string
  readonly inputSchema: StandardInputSchema
  readonly execute: (input: unknown, call: AiToolCall) => Promise<AiToolOutput> | AsyncIterable<AiToolOutput>
  readonly toModelOutput: (call: { readonly output: unknown }) => ModelOutput
}

/** The part of a host's tool that an adapter wraps. */
export interface AiHostTool {
  // The parameters are `never`, so that tools with any input are assignable.
  readonly execute?: ((input: never, call: never) => unknown) | undefined
}

/**
 * Converts tool definitions into tools of the AI SDK. Call this function only once per conversation, because unchanged
 * tools keep the provider's prompt cache valid.
 *
 * The output of a tool call is the whole `ToolResult`. The model sees only the text, which is marked as an error if
 * `isError` is set. A tool with `reportsProgress` yields its progress as preliminary results, and then the answer. When
 * the `abortSignal` of the model call aborts, the tool call rejects with the reason of that signal.
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { toAiTools } from '@skillstoke/adapters/ai-sdk'
 * import { directory } from '@skillstoke/core/node'
 * import { generateText, stepCountIs } from 'ai'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { catalog, tools } = skills.session({ id: 'chat-1' })
 * const call = { instructions: catalog, tools: toAiTools(tools), stopWhen: stepCountIs(20) }
 * const prompt = 'Use the skill "support-pdf".'
 * const { text } = await generateText({ ...call, model: createOfflineModel(), prompt })
 * console.log(text.includes('Instructions of support-pdf.')) // prints true
 * ```
 */
export function toAiTools(definitions: readonly ToolDefinition[]): Record<string, AiTool> {
  return Object.fromEntries(definitions.map(definition => [definition.name, toAiTool(definition)]))
}

function toAiTool(definition: ToolDefinition): AiTool {
  const { description, reportsProgress } = definition
  return {
    type: 'dynamic',
    description,
    inputSchema: toInputSchema(definition),
    execute: (input, { abortSignal: signal, toolCallId: callId }) =>
      reportsProgress === true
        ? streamCall(definition, input, { signal, callId })
        : definition.execute(input, { signal, callId }),
    toModelOutput: ({ output }) => toModelOutput(output as AiToolOutput),
  }
}

function toInputSchema(definition: ToolDefinition): StandardInputSchema {
  // Mark the schema as one of the AI SDK's own. Otherwise the SDK adds `additionalProperties: false` to nested objects,
  // and a strict model could not pass any input to the command of a skill.
  return Object.assign(toStandardSchema(definition), {
    [Symbol.for('vercel.ai.schema')]: true,
    jsonSchema: definition.inputSchema,
    validate: undefined,
  })
}

/** Yields the progress reports of a call as preliminary results, then its answer. */
async function* streamCall(
  definition: ToolDefinition,
  input: unknown,
  context: Pick<ToolContext, 'signal' | 'callId'>,
): AsyncGenerator<AiToolOutput, void, undefined> {
  yield yield* followCall(definition, input, context, showProgress)
}

function showProgress(progress: ToolProgress): AiToolOutput {
  const { done, total, message } = progress
  const text = message ?? (total === undefined ? `${done}` : `${done} of ${total}`)
  return { text, isError: false, progress }
}

/**
 * Wraps tools so that the session can refuse each call, because the model may not know yet which tools are allowed now.
 */
export function withGate<Tools extends Readonly<Record<string, AiHostTool>>>(
  tools: Tools,
  session: Pick<SkillSession, 'checkTool'>,
): Tools {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guard(name, tool, session)]),
  ) as Tools
}

function guard(name: string, tool: AiHostTool, session: Pick<SkillSession, 'checkTool'>): AiHostTool {
  const { execute } = tool
  if (execute === undefined) return tool
  return {
    ...tool,
    // This function is not async, because a streaming tool must return its iterable to the SDK directly.
    execute: (input, call) => {
      const refusal = session.checkTool(name, input)
      if (refusal !== undefined) throw new Error(refusal)
      return execute(input, call)
    },
  }
}
