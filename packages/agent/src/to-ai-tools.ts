import type { ToolDefinition, ToolResult } from '@skillstoke/core'
import { dynamicTool, type JSONSchema7, jsonSchema, type ToolSet } from 'ai'

/** The tools of a session as the AI SDK takes them; made once for a conversation, so the object never changes. */
export function toAiTools(definitions: readonly ToolDefinition[]): ToolSet {
  const tools: ToolSet = {}
  for (const definition of definitions) {
    tools[definition.name] = dynamicTool({
      description: definition.description,
      inputSchema: jsonSchema(definition.inputSchema as JSONSchema7),
      execute: input => definition.execute(input),
      toModelOutput: ({ output }) => {
        const { text, isError } = output as ToolResult
        return { type: isError ? 'error-text' : 'text', value: text }
      },
    })
  }
  return tools
}
