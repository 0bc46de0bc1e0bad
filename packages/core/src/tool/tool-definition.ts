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

/** What surrounds a call. Each field may be left out, or be `undefined`. */
export interface ToolContext {
  /** Ends the call: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Called with each report of progress, by tools with `reportsProgress`. */
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined
}

export interface ToolProgress {
  readonly done: number
  /** In the same unit as `done`; absent when it is unknown. */
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

/**
 * JSON Schema of the input of a tool. A type alias and not an interface, so that it fits parameters of other SDKs that have
 * an index signature. At run time, the schema of a skill's command may have further keywords.
 */
export type ToolInputSchema = {
  type: 'object'
  properties: Record<string, ToolInputField>
  required: string[]
  additionalProperties: boolean
}

/** JSON Schema of one field of an input. */
export type ToolInputField = {
  type: 'string' | 'integer' | 'object' | 'array'
  description?: string
  /** Of each entry of an array. */
  items?: ToolInputField
  minimum?: number
}

/** Something that a model may call. Name, description and schema never change while a conversation lasts. */
export interface ToolDefinition {
  /** Matches `[A-Za-z0-9_-]{1,64}`. */
  readonly name: string
  readonly description: string
  /**
   * JSON Schema of the input object. The tools made here return a new copy at each reading, so a validator may write into the
   * copy it was given without affecting another reader.
   */
  readonly inputSchema: ToolInputSchema
  /** @default it reads skills, and nothing else */
  readonly hints?: ToolHints
  /** Whether a call may report progress before it answers. @default false */
  readonly reportsProgress?: boolean
  /**
   * Runs the tool. Needs no `this`. Takes the input as an object, or as JSON text; no input is an empty object. A mistake of
   * the model is a result with `isError` and a way forward, not an exception.
   * @throws the reason of the signal when it aborts, or had aborted before the call
   */
  readonly execute: (input: unknown, context?: ToolContext) => Promise<ToolResult>
}

export function toolFailure(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: true, ...origin }
}

export function toolSuccess(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: false, ...origin }
}
