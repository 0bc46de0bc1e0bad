import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { untilAborted } from '../host.ts'
import {
  type ToolContext,
  type ToolDefinition,
  type ToolHints,
  type ToolInputField,
  type ToolInputSchema,
  type ToolProgress,
  type ToolResult,
  toolFailure,
} from './tool-definition.ts'
import { readFields, readInput, type ToolInput } from './tool-input.ts'

/** The context of a call, as `run` receives it. No field is `undefined`. */
export interface ToolCall {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: ToolProgress) => void
}

interface ToolParts {
  readonly name: string
  readonly description: string
  readonly hints?: ToolHints
  readonly reportsProgress?: boolean
  /**
   * True if `run` itself reacts to the signal, because `run` must complete a change that has started. If false, an
   * aborted call rejects immediately.
   * @default false
   */
  readonly endsItself?: boolean
  /** Answers a call. After an abort, `run` must not start a lasting change. */
  readonly run: (input: ToolInput, call: ToolCall) => Promise<ToolResult>
}

type Fields = Readonly<Record<string, ToolInputField>>

/** The type of the values that a field accepts. */
type FieldValue<Field extends ToolInputField> = Field extends { type: 'string' }
  ? string
  : Field extends { type: 'integer' }
    ? number
    : Field extends { type: 'array' }
      ? readonly (string | number)[]
      : ToolInput

/** The checked fields of an input. A field that a call may leave out can be undefined. */
type Values<Properties extends Fields, Needs> = {
  readonly [Name in keyof Properties]:
    | FieldValue<Properties[Name]>
    | (Name extends keyof Needs ? never : undefined)
}

interface DefinedParts<Properties extends Fields, Needs> extends Omit<ToolParts, 'run'> {
  readonly properties: Properties
  /** The fields that no call may leave out or leave empty, with example values for models that do. @default {} */
  readonly needs?: Needs & Partial<Record<keyof Properties, string>>
  /** The fields that the schema requires. `run` checks those that are not in `needs`. @default the fields of `needs` */
  readonly required?: readonly string[]
  /** Names that are also accepted but not shown in the schema, each with the name of its field. @default {} */
  readonly aliases?: Readonly<Record<string, string>>
  readonly run: (input: Values<Properties, Needs>, call: ToolCall) => Promise<ToolResult>
}

interface SchemaParts extends ToolParts {
  /** Callers only receive copies. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** Defines a tool by its fields. An input with an unknown field or a wrong value is refused. */
export function defineTool<
  const Properties extends Fields,
  Needs extends Readonly<Record<string, string>> = Readonly<Record<never, string>>,
>({ properties, needs, aliases = {}, run, ...parts }: DefinedParts<Properties, Needs>): ToolDefinition {
  const { required = Object.keys(needs ?? {}) } = parts
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return toTool(parts, schema, Object.keys(properties), async (input, call) => {
    const read = readFields(input, { properties, needs, aliases })
    return 'isError' in read ? read : await run(read.values as Values<Properties, Needs>, call)
  })
}

/** Defines a tool by a given JSON Schema. The input is not checked here; `run` must check it. */
export function defineToolBySchema({ schema, ...parts }: SchemaParts): ToolDefinition {
  const { properties = {}, required = [], additionalProperties = true } = schema
  const whole = { ...schema, type: 'object', properties, required, additionalProperties }
  return toTool(parts, whole, Object.keys(properties as object), parts.run)
}

/** Returns a tool that calls `check` before each call. If `check` returns a reason, the call is refused. */
export function withCheck(
  tool: ToolDefinition,
  check: (name: string, input: unknown) => string | undefined,
): ToolDefinition {
  return withExecute(tool, async (input, context) => {
    context?.signal?.throwIfAborted()
    const given = readInput(input, [])
    const refusal = check(tool.name, 'isError' in given ? input : given.value)
    return refusal === undefined ? await tool.execute(input, context) : toolFailure(refusal)
  })
}

/** Returns a tool with the same definition that answers calls in another way. */
export function withExecute(tool: ToolDefinition, execute: ToolDefinition['execute']): ToolDefinition {
  return createTool(tool, () => tool.inputSchema, execute)
}

/** `inputSchema` is called for each reader of the schema, so that no reader can change it for others. */
function createTool(
  { name, description, hints, reportsProgress }: Omit<ToolParts, 'run'>,
  inputSchema: () => ToolInputSchema,
  execute: ToolDefinition['execute'],
): ToolDefinition {
  return Object.freeze({
    name,
    description,
    get inputSchema() {
      return inputSchema()
    },
    ...defined({ hints: hints && Object.freeze({ ...hints }), reportsProgress }),
    execute,
  })
}

function toTool(
  parts: Omit<ToolParts, 'run'>,
  schema: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  run: ToolParts['run'],
): ToolDefinition {
  const copySchema = (): ToolInputSchema => structuredClone(schema) as ToolInputSchema
  return createTool(parts, copySchema, async (input, context) => {
    const call = toCall(context)
    call.signal?.throwIfAborted()
    const given = readInput(input, fields)
    if ('isError' in given) return given
    const work = run(given.value, call)
    try {
      return await (parts.endsItself === true ? work : untilAborted(call.signal, work))
    } catch (thrown) {
      call.signal?.throwIfAborted()
      // Only the model can try again later. Other failures belong to the host.
      if (SkillError.isInstance(thrown, 'TIMED_OUT')) return toolFailure(thrown.message)
      throw thrown
    }
  })
}

/** Drops empty fields. Some SDKs pass `null` for missing fields. */
function toCall(context: ToolContext | undefined): ToolCall {
  return defined({ signal: context?.signal ?? undefined, onProgress: context?.onProgress ?? undefined })
}
