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
import { findUnknownFields, readInput, type ToolInput } from './tool-input.ts'

/** What surrounds a call, as the work of a tool gets it: no field is `undefined`. */
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
   * Whether the work ends by itself when the signal aborts, because what it has begun must be finished. The call of any other
   * tool stops waiting at once.
   * @default false
   */
  readonly endsItself?: boolean
  /** Answers a call. Where it changes something that outlasts the call, it must not begin to after an abort. */
  readonly run: (input: ToolInput, call: ToolCall) => Promise<ToolResult>
}

interface DefinedParts extends ToolParts {
  readonly properties: Readonly<Record<string, ToolInputField>>
  readonly required?: readonly string[]
  /** Names under which fields are accepted, too, although the schema does not show them. */
  readonly aliases?: readonly string[]
}

interface SchemaParts extends ToolParts {
  /** Never handed out itself. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** Defines a tool by its fields. Inputs with other fields are refused. */
export function defineTool({
  properties,
  required = [],
  aliases = [],
  ...parts
}: DefinedParts): ToolDefinition {
  const fields = Object.keys(properties)
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return toTool(parts, schema, fields, async (input, call) => {
    return findUnknownFields(input, fields, aliases) ?? (await parts.run(input, call))
  })
}

/** Defines a tool by a schema that somebody else has written, and checks. */
export function defineToolBySchema({ schema, ...parts }: SchemaParts): ToolDefinition {
  const { properties = {}, required = [], additionalProperties = true } = schema
  const whole = { ...schema, type: 'object', properties, required, additionalProperties }
  return toTool(parts, whole, Object.keys(properties as object), parts.run)
}

/** Returns the same tool, which refuses calls for which `check` has a reason. */
export function withCheck(
  tool: ToolDefinition,
  check: (name: string, input: unknown) => string | undefined,
): ToolDefinition {
  const { name, description, hints, reportsProgress } = tool
  return Object.freeze({
    name,
    description,
    get inputSchema() {
      return tool.inputSchema
    },
    ...(hints === undefined ? {} : { hints }),
    ...(reportsProgress === undefined ? {} : { reportsProgress }),
    async execute(input: unknown, context?: ToolContext): Promise<ToolResult> {
      context?.signal?.throwIfAborted()
      const given = readInput(input, [])
      const refusal = check(name, 'isError' in given ? input : given.value)
      return refusal === undefined ? await tool.execute(input, context) : toolFailure(refusal)
    },
  })
}

function toTool(
  { name, description, hints, reportsProgress, endsItself = false }: ToolParts,
  schema: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  run: ToolParts['run'],
): ToolDefinition {
  return Object.freeze({
    name,
    description,
    get inputSchema() {
      return structuredClone(schema) as ToolInputSchema
    },
    ...(hints === undefined ? {} : { hints: Object.freeze({ ...hints }) }),
    ...(reportsProgress === undefined ? {} : { reportsProgress }),
    async execute(input: unknown, context?: ToolContext): Promise<ToolResult> {
      const call = toCall(context)
      call.signal?.throwIfAborted()
      const given = readInput(input, fields)
      if ('isError' in given) return given
      const work = run(given.value, call)
      return await (endsItself ? work : untilAborted(call.signal, work))
    },
  })
}

/** SDKs that pass a context of their own give `null` for what they do not have. */
function toCall(context: ToolContext | undefined): ToolCall {
  const signal = context?.signal ?? undefined
  const onProgress = context?.onProgress ?? undefined
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  }
}
