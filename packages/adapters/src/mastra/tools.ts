import type {
  SkillSession,
  ToolDefinition,
  ToolInputSchema,
  ToolProgress,
  ToolResult,
} from '@skillstoke/core'
import { entriesOfAnswer } from '../told-history.ts'
import type { MastraRequestContext } from './sdk.ts'
import { MARK_KEY } from './thread.ts'

/** The answer of a tool, as Mastra stores it in the thread. The model receives only the text. */
export interface MastraToolOutput extends ToolResult {
  /** Which skills the model received. The adapter reads this record when the conversation continues. */
  readonly [MARK_KEY]: object
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

/** A tool for the `tools` of an agent. */
export interface MastraTool {
  id: string
  description: string
  /** Keeps the schema unchanged. Otherwise Mastra makes all fields required for models of OpenAI. */
  strict: false
  inputSchema: MastraInputSchema
  execute: (input: unknown, context: MastraToolContext) => Promise<MastraToolOutput>
  toModelOutput: (output: MastraToolOutput) => { type: 'text' | 'error-text'; value: string }
}

/** The input of a tool as a Standard Schema. The tool itself checks its input. */
export interface MastraInputSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'skillstoke'
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: { readonly input: () => ToolInputSchema; readonly output: () => ToolInputSchema }
  }
}

/** Finds the session of the conversation in which a tool is called. */
export interface SessionFinder {
  readonly scope: string
  ofCall(context: MastraToolContext): Promise<SkillSession>
}

/** Mastra calls only tools with this key with its own context. */
const TOOL_KEY = Symbol.for('mastra.core.tool.Tool')

/** Converts a tool definition. One tool serves all conversations. */
export function toMastraTool(definition: ToolDefinition, sessions: SessionFinder): MastraTool {
  const { name, description } = definition
  const read = (): ToolInputSchema => definition.inputSchema
  const tool: MastraTool = {
    id: name,
    description,
    strict: false,
    inputSchema: {
      '~standard': {
        version: 1,
        vendor: 'skillstoke',
        validate: value => ({ value }),
        jsonSchema: { input: read, output: read },
      },
    },
    execute: async (input, context) => {
      const session = await sessions.ofCall(context)
      const own = session.tools.find(each => each.name === name) ?? definition
      const answer = await own.execute(input, {
        signal: context.abortSignal,
        callId: context.agent?.toolCallId,
        onProgress: toReporter(context),
      })
      const entries = entriesOfAnswer(session, name, answer)
      return { ...answer, [MARK_KEY]: { scope: sessions.scope, entries } }
    },
    toModelOutput: ({ text, isError }) => ({ type: isError ? 'error-text' : 'text', value: text }),
  }
  return Object.assign(tool, { [TOOL_KEY]: true })
}

/** Streams the progress of a call as `tool-output` chunks. */
function toReporter({ writer }: MastraToolContext): (progress: ToolProgress) => void {
  let written: Promise<unknown> = Promise.resolve()
  return progress => {
    // A stream that is already closed only loses progress.
    written = written.then(async () => await writer?.write(progress)).catch(() => undefined)
  }
}
