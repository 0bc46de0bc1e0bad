import type { SkillSession, ToolDefinition, ToolResult } from '@skillstoke/core'
import { dynamicTool, type JSONSchema7, jsonSchema, type ToolSet } from 'ai'

/** The tools of a session as the AI SDK takes them; made once for a conversation, so the object never changes. */
export function toAiTools(definitions: readonly ToolDefinition[]): ToolSet {
  const tools: ToolSet = {}
  for (const definition of definitions) {
    tools[definition.name] = dynamicTool({
      description: definition.description,
      inputSchema: jsonSchema(definition.inputSchema as JSONSchema7),
      execute: (input, { abortSignal }) =>
        definition.execute(input, abortSignal === undefined ? {} : { signal: abortSignal }),
      toModelOutput: ({ output }) => {
        const { text, isError } = output as ToolResult
        return { type: isError ? 'error-text' : 'text', value: text }
      },
    })
  }
  return tools
}

/** The same tools, which ask the session when they are called whether they may be: a model acts on what it saw before. */
export function withGate(tools: ToolSet, session: SkillSession): ToolSet {
  const gated: ToolSet = {}
  for (const [name, tool] of Object.entries(tools)) {
    const { execute } = tool
    gated[name] =
      execute === undefined
        ? tool
        : {
            ...tool,
            execute: async (input: unknown, options: Parameters<typeof execute>[1]) => {
              const refusal = session.checkTool(name, input)
              if (refusal !== undefined) throw new Error(refusal)
              return await execute(input, options)
            },
          }
  }
  return gated
}
