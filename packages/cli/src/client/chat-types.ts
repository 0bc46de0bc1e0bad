import type { AgentEvent } from '@skillstoke/agent'
import type { SessionInfo } from './api-types.ts'

export type { AgentEvent, TokenUsage } from '@skillstoke/agent'

/** `POST /api/chat` */
export interface ChatRequest {
  /** The message to the model. May be empty if `skill` is given. */
  readonly question: string
  /** The conversation to continue. @default a new conversation */
  readonly conversation?: string
  /** Name of a served skill, which is invoked by its slash command. @default none */
  readonly skill?: string
}

/**
 * Events that `POST /api/chat` sends, one per line. The first event is `started`. The last event is `finish` or
 * `failed`.
 */
export type ChatEvent =
  | {
      readonly kind: 'started'
      /** Id of the conversation, for the next request. */
      readonly conversation: string
      /** Number of the turn, counted from 1. */
      readonly turn: number
      /** Name of the model. */
      readonly model: string
    }
  | AgentEvent
  /** The turn ended without an answer. `code` is the code of a SkillError, or MODEL_FAILED. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** `GET /api/chat/:id`: a playground conversation, with everything that the next request to the model contains. */
export interface ChatDetail extends SessionInfo {
  /** Name of the model. */
  readonly model: string
  /** True while an answer is being written. */
  readonly isAnswering: boolean
  /** The exact system text. */
  readonly system: string
  /** The messages, as the model receives them. Messages of an answer that is being written are not included. */
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ChatTool[]
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** Text, or the content parts of the AI SDK. */
  readonly content: unknown
}

/** A tool that the model may call. */
export interface ChatTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
}
