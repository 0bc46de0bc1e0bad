// The parts of `@strands-agents/sdk` that the adapter uses. The classes and objects of the SDK have these shapes.

import { SkillError } from '@skillstoke/core'

/** A class of hook events. The SDK finds the hooks of an event by its class. */
export type StrandsEventClass<Event> = new (...args: never[]) => Event

/** The exports of `@strands-agents/sdk` that the adapter needs. Pass the whole module. */
export interface StrandsSdk<Result = unknown> {
  readonly BeforeInvocationEvent: StrandsEventClass<object>
  readonly AfterInvocationEvent: StrandsEventClass<object>
  readonly BeforeModelCallEvent: StrandsEventClass<StrandsModelCallEvent>
  readonly BeforeToolCallEvent: StrandsEventClass<StrandsToolCallEvent>
  readonly Message: { fromMessageData(data: StrandsMessageData): StrandsMessage }
  readonly TextBlock: new (text: string) => StrandsBlock
  readonly ToolResultBlock: { fromJSON(data: ToolResultData): Result }
}

interface ToolResultData {
  readonly toolResult: {
    readonly toolUseId: string
    readonly status: 'success' | 'error'
    readonly content: { text: string }[]
  }
}

export interface StrandsModelCallEvent {
  readonly cancel: boolean | string
}

export interface StrandsToolCallEvent {
  readonly toolUse: { readonly name: string; readonly input: unknown }
  cancel: boolean | string
}

const SDK_EXPORTS = [
  'BeforeInvocationEvent',
  'AfterInvocationEvent',
  'BeforeModelCallEvent',
  'BeforeToolCallEvent',
  'Message',
  'TextBlock',
  'ToolResultBlock',
] as const satisfies readonly (keyof StrandsSdk)[]

/** @throws {SkillError} INVALID_OPTION, because the SDK would never call the hooks of a class that is missing */
export function assertSdk(sdk: Partial<StrandsSdk> | undefined): void {
  const missing = SDK_EXPORTS.filter(name => sdk?.[name] === undefined)
  if (missing.length === 0) return
  const names = missing.join(', ')
  throw new SkillError(
    'INVALID_OPTION',
    `the option "sdk" has no ${names}; pass the module: import * as sdk from '@strands-agents/sdk'`,
  )
}

/** The part of an agent that plugins use. */
export interface StrandsAgent {
  readonly messages: StrandsMessage[]
  readonly appState: { get(key: string): unknown; set(key: string, value: unknown): void }
  readonly model: { readonly stateful?: boolean }
  readonly toolRegistry: {
    list(): readonly { readonly name: string }[]
    add(tool: never): void
    remove(name: string): void
  }
  systemPrompt?: string | StrandsBlock[]
  addHook(
    type: StrandsEventClass<object>,
    callback: (event: never) => void | Promise<void>,
    options?: { readonly order?: number },
  ): unknown
}

/** A message of the history. Replacing a message keeps its `trackingId`. */
export interface StrandsMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly StrandsBlock[]
  readonly trackingId: string
  toJSON(): StrandsMessageData
}

/** A message as JSON. */
export interface StrandsMessageData {
  readonly role: 'user' | 'assistant'
  readonly content: readonly object[]
}

/** A block of a message or of the system prompt. */
export interface StrandsBlock {
  readonly type: string
  /** A string in text blocks and in thoughts. */
  readonly text?: unknown
  /** Only in tool calls and in their results. */
  readonly toolUseId?: string
  /** Only in tool results and in citations. */
  readonly content?: readonly object[]
}
