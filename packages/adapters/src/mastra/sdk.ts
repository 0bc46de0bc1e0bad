// The parts of `@mastra/core` and `@mastra/memory` that the adapter uses, as structural types.

import type { CacheBreakpoint } from '../ai-sdk/cache-breakpoint.ts'

/** A message of a thread, in the format in which Mastra stores it. */
export interface MastraMessage {
  readonly id: string
  readonly role: string
  readonly threadId?: string | undefined
  readonly content: MastraContent
}

export interface MastraContent {
  readonly parts: readonly MastraPart[]
  metadata?: Record<string, unknown>
}

export interface MastraPart {
  readonly type: string
  readonly text?: unknown
  readonly toolInvocation?: unknown
}

/** The messages that a running agent sends to the model. */
export interface MastraMessageList {
  readonly get: {
    readonly all: { db(): readonly MastraMessage[] }
    /** The new messages of this run, which are not stored yet. */
    readonly input: { db(): readonly MastraMessage[] }
  }
  addSystem(text: string, tag: string): unknown
  getSystemMessages(tag: string): readonly MastraSystemMessage[]
  clearSystemMessages(tag: string): unknown
  removeByIds(ids: string[]): unknown
}

export interface MastraSystemMessage {
  readonly role: string
  readonly content: unknown
}

/** The values of one request. Mastra passes them on to tools and subagents. */
export interface MastraRequestContext {
  get(key: string): unknown
  set(key: string, value: unknown): void
}

/** A message that is not from the user. Mastra stores it in the thread. */
export interface MastraSignal {
  type: 'reactive'
  tagName: string
  attributes: Record<string, string>
  contents: string
  metadata: Record<string, unknown>
}

export type SendMastraSignal = (signal: MastraSignal) => Promise<{ readonly id: string }>

/** A message of the prompt that Mastra gives to the provider. */
export interface MastraPromptMessage {
  readonly role: string
  readonly content: unknown
}

/** The part of a `Memory` that reads a thread. */
export interface MastraReader {
  recall(query: MastraQuery): Promise<{ readonly messages: readonly MastraMessage[] }>
}

export interface MastraQuery {
  threadId: string
  perPage: false
  hideSignals: false
}

/** The part of a `Memory` that replaces the messages of a thread. */
export interface MastraMemory extends MastraReader {
  saveMessages(request: { messages: MastraMessage[] }): Promise<unknown>
  deleteMessages(ids: string[]): Promise<unknown>
}

/** The part of the arguments of `processInputStep` that the adapter uses. */
export interface MastraStep<
  System extends MastraSystemMessage = MastraSystemMessage,
  Options extends object = object,
> {
  readonly messageList: MastraMessageList
  readonly systemMessages: readonly System[]
  /** An object that exists for one run of the agent. */
  readonly state: object
  readonly requestContext?: MastraRequestContext
  readonly tools?: Record<string, unknown>
  readonly providerOptions?: Options
  readonly sendSignal?: SendMastraSignal
}

/** What `processInputStep` returns to the agent. */
export interface MastraStepResult<System extends MastraSystemMessage, Options extends object> {
  tools?: Record<string, unknown>
  providerOptions: Options & CacheBreakpoint
  systemMessages?: System[]
}

/** The arguments of `processLLMRequest`. */
export interface MastraRequest<Message extends MastraPromptMessage> {
  readonly prompt: Message[]
  readonly messageList?: MastraMessageList
  readonly state: object
}

/** An input processor for the `inputProcessors` of an agent. */
export interface MastraProcessor {
  readonly id: 'skillstoke'
  processInputStep<System extends MastraSystemMessage, Options extends object>(
    step: MastraStep<System, Options>,
  ): Promise<MastraStepResult<System, Options>>
  processLLMRequest<Message extends MastraPromptMessage>(
    request: MastraRequest<Message>,
  ): { prompt: Message[] }
}
