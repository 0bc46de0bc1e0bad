import type { Digest } from '../skill/digest.ts'

/** What a tool answers: text for the model, and whether it is a failure that the model can do something about. */
export interface ToolResult {
  readonly text: string
  readonly isError: boolean
  /** Digest of the generation that the answer was taken from; absent when the input was refused before looking. */
  readonly generation?: Digest
  /** Revision of the one skill that the answer is about. */
  readonly revision?: Digest
}

/** What an answer was taken from. */
export type ToolResultOrigin = Pick<ToolResult, 'generation' | 'revision'>

/** What surrounds a call; a tool that works for long makes use of it. */
export interface ToolContext {
  /** Aborts when nobody wants the answer any more. */
  readonly signal?: AbortSignal
  /** Told how far the work is; `total` in the same unit, when it is known. */
  readonly onProgress?: (progress: ToolProgress) => void
}

export interface ToolProgress {
  readonly done: number
  readonly total?: number
  readonly message?: string
}

/** What a tool does to the world, as far as somebody has said so. */
export interface ToolHints {
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  readonly openWorld?: boolean
}

/** Something that a model may call. Name, description and schema never change while a conversation lasts. */
export interface ToolDefinition {
  /** Matches `[A-Za-z0-9_-]{1,64}`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** @default it reads skills, and nothing else */
  readonly hints?: ToolHints
  /** Never throws for what a model did wrong: that is a result with `isError` and a way forward. */
  execute(input: unknown, context?: ToolContext): Promise<ToolResult>
}

/** The text field of an input, under one of its names, or an explanation of what should have been sent. */
export function readTextField(
  input: unknown,
  ...keys: readonly [string, ...string[]]
): { readonly value: string | undefined } | ToolResult {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const key = keys.find(each => Object.hasOwn(fields, each)) ?? keys[0]
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  if (value === undefined || value === null) return { value: undefined }
  if (typeof value === 'string') return { value }
  return toolFailure(`"${key}" is ${JSON.stringify(value)}; it must be text`)
}

/** What is wrong with an input that has fields which the schema does not know; `undefined` when it has none. */
export function findUnknownFields(
  input: unknown,
  known: readonly string[],
  aliases: readonly string[] = [],
): ToolResult | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const unknown = Object.keys(input).filter(key => !known.includes(key) && !aliases.includes(key))
  if (unknown.length === 0) return undefined
  const quote = (keys: readonly string[]): string => keys.map(key => JSON.stringify(key)).join(', ')
  if (known.length === 0) return toolFailure(`there is no field ${quote(unknown)}; there are no fields`)
  return toolFailure(`there is no field ${quote(unknown)}; the fields are ${quote(known)}`)
}

export function toolFailure(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: true, ...origin }
}

export function toolSuccess(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: false, ...origin }
}
