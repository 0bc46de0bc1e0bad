// The parts of `@earendil-works/pi-agent-core` that the adapter uses. The objects of the SDK have these shapes.

import { SkillError } from '@skillstoke/core'

/** The part of an `Agent` that the adapter uses. The arguments are `never`, so that all types of messages are assignable. */
export interface PiAgent {
  readonly state: PiAgentState
  subscribe(listener: (event: { readonly type: string }) => void): () => void
  transformContext?: ((messages: never, signal?: AbortSignal) => Promise<PiMessage[]>) | undefined
  beforeToolCall?: ((context: never, signal?: AbortSignal) => Promise<PiRefusal | undefined>) | undefined
}

interface PiAgentState {
  tools: PiTool[]
  messages: PiMessage[]
}

/** A message of the transcript: a system message, a message of the user or the model, or the result of a tool call. */
export interface PiMessage {
  readonly role: string
  readonly content?: unknown
  readonly timestamp?: unknown
  /** Only in results of tool calls. */
  readonly toolCallId?: unknown
  /** Only in system messages. The sections follow the content of the first message. */
  readonly sections?: object
  /** Only in system messages. */
  readonly toolsAdded?: readonly PiTool[]
}

/** A block of a message. Only calls of tools have an id. */
export interface PiBlock {
  readonly type: string
  readonly id?: string
}

/** The part of a tool that the SDK declares to the model. */
export interface PiTool {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

/** The arguments of `beforeToolCall`. */
export interface PiToolCall {
  readonly toolCall: { readonly name: string }
  /** The input after the SDK has checked it. */
  readonly args: unknown
}

/** The answer of `beforeToolCall`. The reason is the answer to the model. */
export interface PiRefusal {
  block?: boolean
  reason?: string
}

/** @throws {SkillError} INVALID_OPTION, because older agents keep the system prompt outside the transcript */
export function assertAgent(agent: PiAgent | undefined): asserts agent is PiAgent {
  if (Array.isArray(agent?.state?.messages) && 'prepareRequest' in agent) return
  throw new SkillError(
    'INVALID_OPTION',
    'the option "agent" is not an agent of @earendil-works/pi-agent-core 1.5 or later; pass: new Agent({ ... })',
  )
}
