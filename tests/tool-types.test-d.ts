import type { Tool as AnthropicTool } from '@anthropic-ai/sdk/resources/messages'
import { tool as langchainTool, type StructuredToolInterface } from '@langchain/core/tools'
import { type FunctionTool, tool as openaiTool, type Tool } from '@openai/agents'
import { toAiTools } from '@skillstoke/adapters/ai-sdk'
import type { ToolContext, ToolDefinition, ToolInputSchema, ToolResult } from '@skillstoke/core'
import { dynamicTool, type JSONSchema7, jsonSchema, type ToolExecutionOptions, type ToolSet } from 'ai'

// The step "build and types" of the gate compiles this file. Our tools must match the tool types of other SDKs without
// a cast.
declare const tools: readonly ToolDefinition[]

// AI SDK tools, created with `toAiTools` or by hand.
export const ai: ToolSet = toAiTools(tools)
export const aiSchema = (schema: ToolInputSchema): JSONSchema7 => schema
export const aiByHand: ToolSet = Object.fromEntries(
  tools.map(({ name, description, inputSchema, execute }) => [
    name,
    dynamicTool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (input, { abortSignal }) => execute(input, { signal: abortSignal }),
    }),
  ]),
)
/** Accepts a signal that may be `undefined`. */
export const aiContext = (options: ToolExecutionOptions<unknown>): ToolContext => ({
  signal: options.abortSignal,
  onProgress: undefined,
})

// OpenAI Agents tools, created with the factory of the SDK. Without `strict`, a schema of the factory allows unknown
// fields. Our tools refuse such fields when they are called.
export const openai: Tool[] = tools.map(({ name, description, inputSchema, execute }) =>
  openaiTool({
    name,
    description,
    parameters: { ...inputSchema, additionalProperties: true },
    strict: false,
    execute: async (input, _context, details) => (await execute(input, { signal: details?.signal })).text,
  }),
)
// An object like the one that the factory returns, written by hand.
export const openaiPlain: FunctionTool[] = tools.map(({ name, description, inputSchema, execute }) => ({
  type: 'function',
  name,
  description,
  parameters: inputSchema,
  strict: false,
  needsApproval: async () => false,
  isEnabled: async () => true,
  invoke: async (_context, input, details) => (await execute(input, { signal: details?.signal })).text,
}))

// Anthropic: one name differs.
export const anthropic: AnthropicTool[] = tools.map(({ name, description, inputSchema }) => ({
  name,
  description,
  input_schema: inputSchema,
}))

// LangChain tools, created with the factory of LangChain, because LangChain refuses plain objects.
export const langchain: StructuredToolInterface[] = tools.map(({ name, description, inputSchema, execute }) =>
  langchainTool(async (input, { signal }) => (await execute(input, { signal })).text, {
    name,
    description,
    schema: inputSchema,
  }),
)

// Hosts may write their own definitions.
export const own: ToolDefinition = {
  name: 'now',
  description: 'Tells the time.',
  inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  execute: async (): Promise<ToolResult> => ({ text: new Date().toISOString(), isError: false }),
}
