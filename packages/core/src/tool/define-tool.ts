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
import { findUnknownFields, readInput, type ToolInput } from './tool-input.ts'

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

interface DefinedParts extends ToolParts {
  readonly properties: Readonly<Record<string, ToolInputField>>
  readonly required?: readonly string[]
  /** Field names that are also accepted but not shown in the schema. */
  readonly aliases?: readonly string[]
}

interface SchemaParts extends ToolParts {
  /** Callers only receive copies. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** Defines a tool by its fields. An input with an unknown field is refused. */
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
  const { name, description, hints, reportsProgress } = tool
  return Object.freeze({
    name,
    description,
    get inputSchema() {
      return tool.inputSchema
    },
    ...defined({ hints, reportsProgress }),
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
    ...defined({ reportsProgress }),
    async execute(input: unknown, context?: ToolContext): Promise<ToolResult> {
      const call = toCall(context)
      call.signal?.throwIfAborted()
      const given = readInput(input, fields)
      if ('isError' in given) return given
      const work = run(given.value, call)
      try {
        return await (endsItself ? work : untilAborted(call.signal, work))
      } catch (thrown) {
        call.signal?.throwIfAborted()
        // Only the model can try again later. Other failures belong to the host.
        if (SkillError.isInstance(thrown, 'TIMED_OUT')) return toolFailure(thrown.message)
        throw thrown
      }
    },
  })
}

/** Drops empty fields. Some SDKs pass `null` for missing fields. */
function toCall(context: ToolContext | undefined): ToolCall {
  const signal = context?.signal ?? undefined
  const onProgress = context?.onProgress ?? undefined
  return {
    ...defined({ signal, onProgress }),
  }
}
