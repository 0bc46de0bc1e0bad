import type { ToolContext, ToolDefinition, ToolInputSchema, ToolProgress, ToolResult } from '@skillstoke/core'
import { followCall } from '../tool-progress.ts'
import type { StrandsSdk } from './sdk.ts'

/** The part of the SDK's context of a tool call that tools use. */
export interface StrandsToolContext {
  readonly toolUse: { readonly toolUseId: string; readonly input: unknown }
  readonly cancelSignal: AbortSignal
}

/** The newest progress of a running tool call, as the SDK streams it. */
export interface StrandsToolProgress {
  readonly type: 'toolStreamEvent'
  readonly data: ToolProgress
}

/** A tool for the `tools` of an agent. `Result` is the SDK's class `ToolResultBlock`. */
export interface StrandsTool<Result> {
  name: string
  description: string
  toolSpec: { name: string; description: string; inputSchema: ToolInputSchema }
  stream(context: StrandsToolContext): AsyncGenerator<StrandsToolProgress, Result, undefined>
}

/** Called with the answer of each tool call. */
export type OnToolAnswer = (tool: string, toolUseId: string, answer: ToolResult) => void

/** Converts a tool definition into a tool of the SDK. */
export function toStrandsTool<Result>(
  definition: ToolDefinition,
  sdk: Pick<StrandsSdk<Result>, 'ToolResultBlock'>,
  onAnswer: OnToolAnswer,
): StrandsTool<Result> {
  const { name, description, inputSchema } = definition
  return {
    name,
    description,
    toolSpec: { name, description, inputSchema },
    async *stream({ toolUse: { toolUseId, input }, cancelSignal }) {
      const answer = yield* streamCall(definition, input, { signal: cancelSignal, callId: toolUseId })
      onAnswer(name, toolUseId, answer)
      const status = answer.isError ? 'error' : 'success'
      return sdk.ToolResultBlock.fromJSON({
        toolResult: { toolUseId, status, content: [{ text: answer.text }] },
      })
    },
  }
}

/** Yields the progress of a call as events of the SDK, then returns its answer. */
async function* streamCall(
  definition: ToolDefinition,
  input: unknown,
  context: Pick<ToolContext, 'signal' | 'callId'>,
): AsyncGenerator<StrandsToolProgress, ToolResult, undefined> {
  const call = followCall(definition, input, context)
  for (;;) {
    const { value, done } = await call.next()
    if (done === true) return value
    yield { type: 'toolStreamEvent', data: value }
  }
}
