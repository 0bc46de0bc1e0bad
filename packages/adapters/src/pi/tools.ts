import type { ToolDefinition, ToolProgress } from '@skillstoke/core'
import type { PiTool } from './sdk.ts'

/** What a tool returns. The SDK stores the details, and does not send them to the model. */
interface PiToolResult {
  content: { type: 'text'; text: string }[]
  details: Partial<ToolProgress>
  isError?: boolean
}

/** A tool for the `tools` of an agent. */
export interface PiSkillTool extends PiTool {
  /** The name that the SDK shows to users. */
  readonly label: string
  execute(
    callId: string,
    input: unknown,
    signal?: AbortSignal,
    onUpdate?: (progress: PiToolResult) => void,
  ): Promise<PiToolResult>
}

/** Converts a tool definition into a tool of the SDK. */
export function toPiTool({ name, description, inputSchema, execute }: ToolDefinition): PiSkillTool {
  return {
    name,
    label: name,
    description,
    parameters: inputSchema,
    async execute(toolCallId, input, signal, onUpdate) {
      const onProgress = (progress: ToolProgress): void =>
        onUpdate?.({ content: toContent(progress.message ?? ''), details: progress })
      const { text, isError } = await execute(input, { signal, callId: toCallId(toolCallId), onProgress })
      return { content: toContent(text), details: {}, isError }
    },
  }
}

/** Returns the id that the model gave a call. For the Responses API, the SDK appends the id of the item. */
export function toCallId(toolCallId: string): string {
  return toolCallId.split('|', 1).join('')
}

function toContent(text: string): PiToolResult['content'] {
  return [{ type: 'text', text }]
}
