import type { ToolDefinition, ToolInputSchema, ToolProgress } from '@skillstoke/core'
import { followCall } from '../skill-tools.ts'
import type { StrandsSdk } from './sdk.ts'

/** The part of the SDK's context of a tool call that tools use. */
interface ToolCallContext {
  readonly toolUse: { readonly toolUseId: string; readonly input: unknown }
  readonly cancelSignal: AbortSignal
}

/** The newest progress of a running tool call, as the SDK streams it. */
interface StreamedProgress {
  readonly type: 'toolStreamEvent'
  readonly data: ToolProgress
}

/** A tool for the `tools` of an agent. `Result` is the SDK's class `ToolResultBlock`. */
export interface StrandsTool<Result> {
  name: string
  description: string
  toolSpec: { name: string; description: string; inputSchema: ToolInputSchema }
  stream(context: ToolCallContext): AsyncGenerator<StreamedProgress, Result, undefined>
}

/** Converts a tool definition into a tool of the SDK. */
export function toStrandsTool<Result>(
  definition: ToolDefinition,
  sdk: Pick<StrandsSdk<Result>, 'ToolResultBlock'>,
): StrandsTool<Result> {
  const { name, description, inputSchema } = definition
  const show = (data: ToolProgress): StreamedProgress => ({ type: 'toolStreamEvent', data })
  return {
    name,
    description,
    toolSpec: { name, description, inputSchema },
    async *stream({ toolUse: { toolUseId, input }, cancelSignal }) {
      const context = { signal: cancelSignal, callId: toolUseId }
      const answer = yield* followCall(definition, input, context, show)
      const status = answer.isError ? 'error' : 'success'
      return sdk.ToolResultBlock.fromJSON({
        toolResult: { toolUseId, status, content: [{ text: answer.text }] },
      })
    },
  }
}
