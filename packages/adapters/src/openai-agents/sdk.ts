// The parts of `@openai/agents` that the adapter uses. The classes and objects of the SDK have these shapes.

import type { AddedMessage, HistoryItem } from '../history-place.ts'

/** The part of an `Agent` that the adapter uses. */
export interface OpenaiAgent {
  readonly tools: readonly OpenaiTool[]
  // The arguments are `never`, so that agents with every type of context are assignable.
  clone(config: never): unknown
  getSystemPrompt(runContext: never): Promise<string | undefined>
  getAllTools(runContext: never, tracingParent?: never): Promise<OpenaiTool[]>
}

/** A tool of an agent. Only function tools have guardrails. */
export interface OpenaiTool {
  readonly type: string
  readonly name: string
  inputGuardrails?: object[] | undefined
}

/** What the SDK sends to the model. */
export interface OpenaiModelData<Item> {
  input: Item[]
  instructions?: string
}

/** The arguments of `callModelInputFilter`. */
export interface OpenaiFilterCall<Item> {
  readonly modelData: OpenaiModelData<Item>
  readonly agent: OpenaiAgent
}

/** The arguments of `toolErrorFormatter`. */
export interface OpenaiToolError {
  readonly kind: string
  readonly toolName: string
}

type ToolNotFoundBehavior = 'raise_error' | 'return_error_to_model'
type MaybePromise<Value> = Value | Promise<Value>

/** Your own options of a run. `openaiAgents` merges the options that are listed here. */
export interface OpenaiRunSettings {
  readonly stream?: boolean | undefined
  /** Your own filter. It receives the items with all notices, and the instructions with the catalog. @default none */
  readonly callModelInputFilter?: (call: never) => MaybePromise<OpenaiModelData<unknown>>
  /** Your own texts for errors of tools. @default texts that explain how to load a skill */
  readonly toolErrorFormatter?: (error: never) => MaybePromise<string | undefined>
  /** @default 'return_error_to_model', because models sometimes call a skill as if it were a tool */
  readonly toolNotFoundBehavior?: ToolNotFoundBehavior
  /** A session of the SDK, which stores the history without notices. @default none */
  readonly session?: object | undefined
  readonly conversationId?: string | undefined
  readonly previousResponseId?: string | undefined
}

/** The options of a run that the adapter sets. */
export interface OpenaiRunHooks {
  /** The SDK awaits it before every model call, and passes it copies of all items. */
  callModelInputFilter: <Item extends HistoryItem>(
    call: OpenaiFilterCall<Item>,
  ) => Promise<OpenaiModelData<Item | AddedMessage>>
  toolErrorFormatter: (error: OpenaiToolError) => Promise<string | undefined>
  toolNotFoundBehavior: ToolNotFoundBehavior
}
