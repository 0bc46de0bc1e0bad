// The parts of `@mastra/core` and `@mastra/memory` that the adapter uses, as structural types.

/** A message of a thread, in the format in which Mastra stores it. */
export interface MastraMessage {
  readonly id: string
  readonly role: string
  readonly threadId?: string | undefined
  readonly content: {
    readonly parts: readonly {
      readonly type: string
      readonly text?: unknown
      readonly toolInvocation?: unknown
    }[]
    metadata?: Record<string, unknown>
  }
}

/** A message of a prompt, or a system message. */
export interface MastraPromptMessage {
  readonly role: string
  readonly content: unknown
}

/** The messages that a running agent sends to the model. */
export interface MastraMessageList {
  readonly get: {
    readonly all: { db(): readonly MastraMessage[] }
    /** The new messages of this run, which are not stored yet. */
    readonly input: { db(): readonly MastraMessage[] }
  }
  addSystem(text: string, tag: string): unknown
  getSystemMessages(tag: string): readonly MastraPromptMessage[]
  clearSystemMessages(tag: string): unknown
  removeByIds(ids: string[]): unknown
}

/** The values of one request. Mastra passes them on to tools and subagents. */
export interface MastraRequestContext {
  get(key: string): unknown
  set(key: string, value: unknown): void
}

/** The part of Mastra's context of a tool call that tools use. */
export interface MastraToolContext {
  readonly abortSignal?: AbortSignal | undefined
  readonly requestContext?: MastraRequestContext | undefined
  readonly memory?: unknown
  readonly agent?:
    | { readonly threadId?: string | undefined; readonly toolCallId?: string | undefined }
    | undefined
  /** Writes chunks into the stream of the agent. */
  readonly writer?: { write(chunk: unknown): Promise<unknown> } | undefined
}

/** A message that is not from the user. Mastra stores it in the thread. */
export interface MastraSignal {
  type: 'reactive'
  tagName: string
  attributes: Record<string, string>
  contents: string
  metadata: Record<string, unknown>
}

export type SendMastraSignal = (signal: MastraSignal) => Promise<object>

/** The part of a `Memory` that reads a thread. */
export interface MastraReader {
  recall(query: {
    threadId: string
    perPage: false
    hideSignals: false
  }): Promise<{ readonly messages: readonly MastraMessage[] }>
}

/** The part of a `Memory` that replaces the messages of a thread. */
export interface MastraMemory extends MastraReader {
  saveMessages(request: { messages: MastraMessage[] }): Promise<unknown>
  deleteMessages(ids: string[]): Promise<unknown>
}

/** The part of the arguments of `processInputStep` that the adapter uses. */
export interface MastraStep {
  readonly messageList: MastraMessageList
  readonly systemMessages: readonly MastraPromptMessage[]
  /** An object that exists for one run of the agent. */
  readonly state: object
  readonly requestContext?: MastraRequestContext
  readonly tools?: Record<string, unknown>
  readonly providerOptions?: object
  readonly sendSignal?: SendMastraSignal
}

/** What `processInputStep` returns to the agent. The type `never` of its fields fits the types of every version. */
export interface MastraStepResult {
  tools?: Record<string, unknown>
  providerOptions: never
  systemMessages?: never[]
}

/** An input processor for the `inputProcessors` of an agent. */
export interface MastraProcessor {
  readonly id: 'skillstoke'
  processInputStep(step: MastraStep): Promise<MastraStepResult>
  processLLMRequest(request: {
    readonly prompt: readonly MastraPromptMessage[]
    readonly messageList?: MastraMessageList
    readonly state: object
  }): { prompt: never[] }
}
