import type { SkillScope, ToolDefinition } from '@skillstoke/core'
import type { CopilotEvent, CopilotPart, RECORD } from './history.ts'

/** The part of a session's configuration that the adapter merges with its own. All other fields stay as they are. */
export interface CopilotConfig {
  readonly sessionId?: string | undefined
  readonly tools?: readonly { readonly name: string }[] | undefined
  readonly availableTools?: readonly string[] | { toArray(): string[] } | undefined
  readonly customAgents?: readonly CopilotAgentDefinition[] | undefined
  readonly hooks?: object | undefined
  readonly onEvent?: ((event: never) => void) | undefined
}

interface CopilotAgentDefinition {
  readonly name: string
  readonly tools?: readonly string[] | null | undefined
}

/** The input of a hook. The adapter uses these fields of the SDK's inputs. */
export interface CopilotHookInput {
  /** The id of the session, or of the subagent. */
  readonly sessionId: string
  readonly prompt: string
  readonly toolName: string
  readonly toolArgs: unknown
}

/** The output of a hook. Other fields of the host's output stay as they are. */
export interface CopilotHookOutput {
  readonly modifiedPrompt?: string
  readonly additionalContext?: string
  readonly permissionDecision?: string
  readonly permissionDecisionReason?: string
  readonly [RECORD]?: readonly CopilotPart[]
}

type CopilotHook = (input: CopilotHookInput, invocation: { readonly sessionId: string }) => unknown

/** Completes the output of the host's hook. `isMain` is false for a subagent. */
export type OwnHook = (
  input: CopilotHookInput,
  theirs: CopilotHookOutput,
  isMain: boolean,
) => CopilotHookOutput | Promise<CopilotHookOutput>

/** A call of a tool by the SDK. */
export interface CopilotCall {
  readonly toolCallId: string
  readonly signal?: AbortSignal | undefined
}

/** The adapter's own part of the configuration. */
export interface OwnConfig {
  readonly tools: readonly ToolDefinition[]
  readonly scopes: Readonly<Record<string, SkillScope>>
  readonly hooks: Readonly<Record<string, OwnHook>>
  /** Returns the text for the model. */
  readonly execute: (tool: string, input: unknown, call: CopilotCall) => Promise<string>
  readonly receive: (event: CopilotEvent) => void
}

/** Returns the configuration with the tools, the hooks and the listener of the adapter. */
export function mergeConfig<Config extends CopilotConfig>(yours: Config, own: OwnConfig): Config {
  const { tools = [], availableTools, customAgents, hooks = {}, onEvent } = yours
  const names = own.tools.map(({ name }) => name)
  const merged = {
    ...yours,
    tools: [...tools, ...own.tools.map(tool => toCopilotTool(tool, own.execute))],
    ...(availableTools && { availableTools: [...toNames(availableTools), ...names] }),
    ...(customAgents && { customAgents: customAgents.map(agent => addTools(agent, own.scopes, names)) }),
    hooks: { ...hooks, ...mergeHooks(hooks as Readonly<Record<string, CopilotHook | undefined>>, own.hooks) },
    onEvent: (event: CopilotEvent) => {
      own.receive(event)
      onEvent?.(event as never)
    },
  }
  // The adapter does not depend on the SDK, so it cannot name the SDK's own types of tools and hooks.
  return merged as unknown as Config
}

function toNames(tools: NonNullable<CopilotConfig['availableTools']>): readonly string[] {
  return 'toArray' in tools ? tools.toArray() : tools
}

function toCopilotTool(tool: ToolDefinition, execute: OwnConfig['execute']): object {
  const { name, description, inputSchema, hints = {} } = tool
  return {
    name,
    description,
    parameters: inputSchema,
    defer: 'never',
    skipPermission: hints.readOnly !== false,
    // An error is a text, too: the runtime does not store what hooks add to a call that failed.
    handler: async (input: unknown, call: CopilotCall) => await execute(name, input, call),
  }
}

/** Adds tools to a subagent that has a scope and a list of tools. Without a list, it has all tools. */
function addTools(
  agent: CopilotAgentDefinition,
  scopes: Readonly<Record<string, SkillScope>>,
  names: readonly string[],
): CopilotAgentDefinition {
  const { name, tools } = agent
  if (!tools || !Object.hasOwn(scopes, name)) return agent
  return { ...agent, tools: [...tools, ...names.filter(each => !tools.includes(each))] }
}

/** Runs the hook of the host first, and completes its output. */
function mergeHooks(
  theirs: Readonly<Record<string, CopilotHook | undefined>>,
  own: Readonly<Record<string, OwnHook>>,
): Record<string, CopilotHook> {
  const hooks = Object.entries(own).map(([event, complete]) => {
    const hook: CopilotHook = async (input, invocation) => {
      let output: unknown
      try {
        output = await theirs[event]?.(input, invocation)
      } catch {
        // The SDK ignores hooks that fail.
      }
      return await complete(input, output ?? {}, input.sessionId === invocation.sessionId)
    }
    return [event, hook] as const
  })
  return Object.fromEntries(hooks)
}
