import type { ToolDefinition, ToolProgress, ToolResult } from '@skillstoke/core'
import {
  type ModelOutput,
  type StandardInputSchema,
  toModelOutput,
  toStandardSchema,
} from '../skill-tools.ts'
import { entriesOfAnswer } from '../told-history.ts'
import type { MastraToolContext } from './sdk.ts'
import type { MastraSessions } from './sessions.ts'
import { MARK_KEY } from './thread.ts'

/** The answer of a tool, as Mastra stores it in the thread. The model receives only the text. */
interface MastraToolOutput extends ToolResult {
  /** Which skills the model received. The adapter reads this record when the conversation continues. */
  readonly [MARK_KEY]: object
}

/** A tool for the `tools` of an agent. */
export interface MastraTool {
  id: string
  description: string
  /** Keeps the schema unchanged. Otherwise Mastra makes all fields required for models of OpenAI. */
  strict: false
  inputSchema: StandardInputSchema
  execute: (input: unknown, context: MastraToolContext) => Promise<MastraToolOutput>
  toModelOutput: (output: ToolResult) => ModelOutput
}

/** Mastra calls only tools with this key with its own context. */
const TOOL_KEY = Symbol.for('mastra.core.tool.Tool')

/** Converts a tool definition. One tool serves all conversations. */
export function toMastraTool(
  definition: ToolDefinition,
  sessions: Pick<MastraSessions, 'scope' | 'ofCall'>,
): MastraTool {
  const { name, description } = definition
  const tool: MastraTool = {
    id: name,
    description,
    strict: false,
    inputSchema: toStandardSchema(definition),
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
    toModelOutput,
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
