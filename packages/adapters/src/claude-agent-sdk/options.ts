import { SkillError, type SkillScope, type ToolDefinition } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { joinTexts } from '../live-conversation.ts'
import type { SkillServer } from './server.ts'

/** The options of `query()` that the adapter merges with its own. All other options stay as they are. */
export interface ClaudeQueryOptions {
  readonly systemPrompt?: ClaudeSystemPrompt | undefined
  readonly mcpServers?: Readonly<Record<string, object>> | undefined
  readonly allowedTools?: readonly string[] | undefined
  readonly agents?: Readonly<Record<string, ClaudeAgentDefinition>> | undefined
  readonly hooks?: Readonly<Record<string, readonly object[] | undefined>> | undefined
  readonly resume?: string | undefined
  readonly continue?: boolean | undefined
  readonly sessionId?: string | undefined
  readonly [option: string]: unknown
}

/** The forms of the system prompt that the SDK accepts. */
type ClaudeSystemPrompt =
  | string
  | readonly string[]
  | { readonly type: 'custom'; readonly prompt: string | readonly string[] }
  | { readonly type: 'preset'; readonly append?: string | undefined }

/** The part of the definition of a subagent that the adapter uses. */
interface ClaudeAgentDefinition {
  readonly description: string
  readonly tools?: readonly string[] | undefined
}

/** The adapter's own part of the options. */
export interface OwnOptions {
  readonly catalog: string
  readonly server: SkillServer
  readonly tools: readonly ToolDefinition[]
  readonly scopes: Readonly<Record<string, SkillScope>>
  readonly hooks: Readonly<Record<string, readonly object[]>>
  /** The session to resume; absent for a new conversation. */
  readonly sessionId: string | undefined
  /** True if the query must copy the session. */
  readonly isFork: boolean
}

/** The name of the MCP server with the skill tools. */
const SERVER_NAME = 'skills'

/** Claude Code puts this prefix before the names of the skill tools. */
export const TOOL_PREFIX: string = `mcp__${SERVER_NAME}__`

/** @throws {SkillError} INVALID_OPTION if the host has an MCP server with the name of the adapter's server */
export function mergeOptions<Yours extends ClaudeQueryOptions>(yours: Yours, own: OwnOptions): Yours {
  const { mcpServers = {}, allowedTools = [], agents, hooks = {} } = yours
  if (Object.hasOwn(mcpServers, SERVER_NAME))
    throw new SkillError(
      'INVALID_OPTION',
      `your MCP server ${quote(SERVER_NAME)} has the name of the server of the skill tools; rename your server`,
    )
  const reading = own.tools
    .filter(({ hints }) => hints?.readOnly !== false)
    .map(({ name }) => TOOL_PREFIX + name)
  // The host may choose the session itself.
  const isFree = yours.resume === undefined && yours.continue !== true && yours.sessionId === undefined
  const merged: ClaudeQueryOptions = {
    ...yours,
    systemPrompt: appendText(yours.systemPrompt, own.catalog),
    mcpServers: { ...mcpServers, [SERVER_NAME]: { type: 'sdk', name: SERVER_NAME, instance: own.server } },
    allowedTools: [...allowedTools, ...reading],
    ...(agents && { agents: addTools(agents, own.scopes, reading) }),
    hooks: { ...hooks, ...mapValues(own.hooks, (each, event) => [...(hooks[event] ?? []), ...each]) },
    ...(isFree && own.sessionId !== undefined && { resume: own.sessionId }),
    ...(own.isFork && { forkSession: true }),
  }
  // The adapter does not depend on the SDK, so it cannot name the SDK's own types of servers and hooks.
  return merged as Yours
}

function appendText(prompt: ClaudeSystemPrompt | undefined, text: string): ClaudeSystemPrompt | undefined {
  if (text === '') return prompt
  if (prompt === undefined || typeof prompt === 'string') return joinTexts(prompt, text)
  if (!('type' in prompt)) return [...prompt, text]
  if (prompt.type === 'preset') return { ...prompt, append: joinTexts(prompt.append, text) }
  const { prompt: own } = prompt
  return { ...prompt, prompt: typeof own === 'string' ? joinTexts(own, text) : [...own, text] }
}

/** Adds tools to the subagents that have a scope and a list of tools. Without a list, they have all tools. */
function addTools(
  agents: Readonly<Record<string, ClaudeAgentDefinition>>,
  scopes: Readonly<Record<string, SkillScope>>,
  names: readonly string[],
): Record<string, ClaudeAgentDefinition> {
  return mapValues(agents, (agent, type) => {
    const { tools } = agent
    if (tools === undefined || !Object.hasOwn(scopes, type)) return agent
    return { ...agent, tools: [...tools, ...names.filter(name => !tools.includes(name))] }
  })
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
