import type { Digest } from '../skill/digest.ts'

/** The answer of a tool: text for the model. `isError` is true for a failure that the model can correct. */
export interface ToolResult {
  readonly text: string
  readonly isError: boolean
  /** Digest of the generation from which the tool answered; absent if the input was refused. */
  readonly generation?: Digest
  /** Name of the skill that the answer is about; absent for lists and for unknown names. */
  readonly skill?: string
  /** Revision of that skill. */
  readonly revision?: Digest
  /** What the model searched for, if no skill matched. */
  readonly missed?: string
  /** The same result as `text`, as an object for programs. Only commands that return an object have it. */
  readonly structured?: Readonly<Record<string, unknown>>
}

/** The generation, the skill and the revision from which a tool answered. */
export type ToolResultOrigin = Pick<ToolResult, 'generation' | 'skill' | 'revision' | 'missed'>

/** The context of a call. Each field may be omitted or `undefined`. */
export interface ToolContext {
  /** Aborts the call. The call rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
  /** Receives the progress of tools with `reportsProgress`. */
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined
  /** The id that the model gave the call. Events about the use of a skill contain this id. */
  readonly callId?: string | undefined
}

/** The progress of a tool or of a command. */
export interface ToolProgress {
  readonly done: number
  /** The final value of `done`; absent if unknown. */
  readonly total?: number
  readonly message?: string
}

/** The declared effects of a tool. */
export interface ToolHints {
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  readonly openWorld?: boolean
}

/**
 * JSON Schema of the input of a tool. This is a type alias instead of an interface, so that it can be assigned to SDK
 * types with an index signature. At run time, the schema of a skill's command may have further keywords.
 */
export type ToolInputSchema = {
  type: 'object'
  properties: Record<string, ToolInputField>
  required: string[]
  additionalProperties: boolean
}

/** JSON Schema of one input field. */
export type ToolInputField = {
  type: 'string' | 'integer' | 'object' | 'array'
  description?: string
  /** The schema of each entry of an array. */
  items?: ToolInputField
  minimum?: number
}

/**
 * A function that a model may call. Name, description and schema never change during a conversation.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { tools } = skills.session({ id: 'chat-1' })
 * const answerCall = async (name: string, input: unknown) =>
 *   (await tools.find(tool => tool.name === name)?.execute(input))?.text ?? `There is no tool ${name}.`
 * console.log((await answerCall('skill', '{"name":"support-pdf"}')).includes('Instructions')) // prints true
 * console.log(await answerCall('weather', {})) // prints There is no tool weather.
 * ```
 */
export interface ToolDefinition {
  /** Matches `[A-Za-z0-9_-]{1,64}`. */
  readonly name: string
  readonly description: string
  /**
   * JSON Schema of the input object. The tools of this library return a new copy at each access, because a validator
   * may modify the copy that it receives.
   */
  readonly inputSchema: ToolInputSchema
  /** @default the tool only reads skills */
  readonly hints?: ToolHints
  /** Whether a call may report progress before it answers. @default false */
  readonly reportsProgress?: boolean
  /**
   * Runs the tool. Needs no `this`. Accepts the input as an object or as JSON text. A missing input counts as an empty
   * object. For a mistake of the model, returns a result with `isError` and a hint.
   * @throws `signal.reason` when the signal aborts, or was aborted before the call
   */
  readonly execute: (input: unknown, context?: ToolContext) => Promise<ToolResult>
}

export function toolFailure(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: true, ...origin }
}

export function toolSuccess(text: string, origin: ToolResultOrigin = {}): ToolResult {
  return { text, isError: false, ...origin }
}

/** A command of a skill as a tool. */
export interface CommandTool {
  readonly skill: string
  readonly tool: ToolDefinition
}
