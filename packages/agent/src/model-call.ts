import { type FinishReason, type ModelMessage, stepCountIs, streamText, type ToolSet } from 'ai'
import type { AgentEvent } from './agent-event.ts'
import type { SkillUse } from './conversation-store.ts'
import { type TokenUsage, toTokenUsage } from './token-usage.ts'

/** The settings of `streamText` that a host may set for all model calls of an agent. */
export const CALL_SETTINGS = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'stopSequences',
  'seed',
  'reasoning',
  'toolChoice',
  'toolApproval',
  'headers',
  'timeout',
  'providerOptions',
  'telemetry',
] as const

/** Settings of `streamText` of the AI SDK. */
export type ModelCallSettings = Pick<Parameters<typeof streamText>[0], (typeof CALL_SETTINGS)[number]>

/**
 * By default, a model call fails if the provider sends nothing for five minutes. Tools have no time limit.
 */
export const DEFAULT_TIMEOUT = { firstChunkMs: 300_000, chunkMs: 300_000 } as const

export interface ModelCall extends Pick<Parameters<typeof streamText>[0], 'model'> {
  readonly system: string
  readonly messages: readonly ModelMessage[]
  readonly tools: ToolSet
  readonly settings: ModelCallSettings
  readonly maxRetries: number | undefined
  readonly signal: AbortSignal
}

/** The complete answer of a model call, with the results of its tools. */
export interface ModelAnswer {
  readonly messages: readonly ModelMessage[]
  readonly text: string
  readonly finishReason: FinishReason
  readonly usage: TokenUsage
  readonly uses: readonly SkillUse[]
}

/** Calls the model once, and runs the tools that the model requests. Throws if the call fails, times out or is aborted. */
export async function* callModel({
  settings,
  system,
  signal,
  maxRetries,
  ...call
}: ModelCall): AsyncGenerator<AgentEvent, ModelAnswer, undefined> {
  const result = streamText({
    timeout: DEFAULT_TIMEOUT,
    ...settings,
    model: call.model,
    instructions: system,
    messages: [...call.messages],
    tools: call.tools,
    stopWhen: stepCountIs(1),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    abortSignal: signal,
    onError: () => undefined, // the stream reports the error, which is thrown below
  })
  const uses: SkillUse[] = []
  for await (const part of result.stream) {
    switch (part.type) {
      case 'text-delta':
        yield { kind: 'text', delta: part.text }
        break
      case 'reasoning-delta':
        yield { kind: 'reasoning', delta: part.text }
        break
      case 'tool-call':
        yield { kind: 'tool-call', callId: part.toolCallId, name: part.toolName, input: part.input }
        break
      case 'tool-result':
        if (part.preliminary === true) break
        uses.push(...readUses(part))
        yield { kind: 'tool-result', callId: part.toolCallId, name: part.toolName, output: part.output }
        break
      case 'tool-error': {
        const output = { text: String(part.error), isError: true }
        yield { kind: 'tool-result', callId: part.toolCallId, name: part.toolName, output }
        break
      }
      case 'error':
        throw part.error
      case 'abort':
        signal.throwIfAborted()
        throw new Error(part.reason ?? 'the model call was aborted')
      default:
    }
  }
  return {
    messages: await result.responseMessages,
    text: await result.text,
    finishReason: await result.finishReason,
    usage: toTokenUsage(await result.usage),
    uses,
  }
}

/** Returns the skill that answered a call; empty for tools of the host. */
function readUses(part: {
  readonly toolCallId: string
  readonly toolName: string
  readonly output: unknown
}): readonly SkillUse[] {
  const { skill, revision } = (part.output ?? {}) as Partial<SkillUse>
  if (typeof skill !== 'string' || typeof revision !== 'string') return []
  return [{ callId: part.toolCallId, tool: part.toolName, skill, revision }]
}
