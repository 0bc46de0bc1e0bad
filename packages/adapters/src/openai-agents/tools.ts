import type { ToolDefinition } from '@skillstoke/core'
import { histories } from './run.ts'
import type { OpenaiAgent, OpenaiTool } from './sdk.ts'

interface CallDetails {
  readonly toolCall?: { readonly callId: string } | undefined
  readonly signal?: AbortSignal | undefined
}

/** Converts a tool definition into a function tool of the SDK. */
export function toFunctionTool(definition: ToolDefinition): OpenaiTool {
  const { name, description, inputSchema, execute } = definition
  const tool = {
    type: 'function',
    name,
    description,
    // The schema of a tool that is not strict must allow additional properties. The tool still refuses unknown fields.
    parameters: { ...inputSchema, additionalProperties: true },
    strict: false,
    async invoke(_context: unknown, input: string, { toolCall, signal }: CallDetails = {}) {
      return (await execute(input, { signal, callId: toolCall?.callId })).text
    },
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
  }
  return tool
}

interface GuardedCall {
  readonly agent: object
  readonly toolCall: { readonly name: string; readonly arguments: string }
}

/** One guardrail for all agents, so that a tool gets it only once. It allows every call of an agent without skills. */
const GUARDRAIL: object = {
  type: 'tool_input',
  name: 'skillstoke',
  run({ agent, toolCall }: GuardedCall): Promise<object> {
    const message = histories.get(agent)?.session.checkTool(toolCall.name, parse(toolCall.arguments))
    const behavior = message === undefined ? { type: 'allow' } : { type: 'rejectContent', message }
    return Promise.resolve({ behavior })
  },
}

/** Adds the guardrail to every function tool of the agent, also to the tools of its MCP servers. */
export function guardTools(agent: OpenaiAgent): void {
  for (const tool of agent.tools) guard(tool)
  const getAllTools = agent.getAllTools.bind(agent)
  agent.getAllTools = async (...given) => (await getAllTools(...given)).map(guard)
}

/** Adds the guardrail to the tool itself, because the SDK finds the agent of an agent tool by the tool's identity. */
function guard(tool: OpenaiTool): OpenaiTool {
  const { type, inputGuardrails = [] } = tool
  if (type === 'function' && !inputGuardrails.includes(GUARDRAIL))
    tool.inputGuardrails = [...inputGuardrails, GUARDRAIL]
  return tool
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the tool itself reports malformed input
  }
}
