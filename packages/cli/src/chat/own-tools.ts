import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { toMessage } from '@skillstoke/core/internal'
import { jsonSchema, type ToolExecutionOptions, type ToolSet } from 'ai'
import type { AgentConfig } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { createTransport } from '../mcp-clients/check-server.ts'
import type { ServerEntry } from '../mcp-clients/client-table.ts'
import { UsageError } from '../terminal/exit-code.ts'
import type { Parts } from '../terminal/parts.ts'

const CONNECT_TIMEOUT_MS = 30_000
/** Providers refuse longer names of tools. */
const MAX_NAME = 64

/**
 * Loads the tools of the section `agent` of the configuration file, and starts its MCP servers as parts of a program.
 * The tools stay the same while the program runs.
 * @throws {UsageError} when a module cannot be loaded, or a server does not start
 */
export async function openOwnTools(
  { mcpServers = {}, tools, folder }: AgentConfig,
  parts: Parts,
): Promise<ToolSet> {
  const own = tools === undefined ? {} : await importTools(resolve(folder, tools))
  const started = await Promise.all(
    Object.entries(mcpServers).map(async ([name, server]) => {
      const entry: ServerEntry =
        'url' in server
          ? { kind: 'http', ...server }
          : { kind: 'stdio', command: server.command, args: server.args ?? [], env: server.env ?? {} }
      return await startServer(name, entry, { folder, parts })
    }),
  )
  return Object.assign({}, own, ...started) as ToolSet
}

async function importTools(path: string): Promise<ToolSet> {
  const module = await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw new UsageError(`the tools in ${path} cannot be loaded: ${toMessage(cause)}`, { cause })
  })
  const tools = (module as { readonly default?: unknown }).default
  const entries: readonly [string, unknown][] =
    typeof tools === 'object' && tools !== null ? Object.entries(tools) : [['default', undefined]]
  const wrong = entries.find(([, tool]) => !isTool(tool))
  if (wrong === undefined) return tools as ToolSet
  throw new UsageError(
    `${JSON.stringify(wrong[0])} in the default export of ${path} is no tool of the AI SDK; write an object of tools, for example { hello: tool({...}) }`,
  )
}

/** True for a tool whose input schema is one of the AI SDK, of Zod or of another library with Standard Schema. */
function isTool(tool: unknown): boolean {
  const schema: unknown = (tool as { readonly inputSchema?: unknown } | undefined)?.inputSchema
  if (typeof schema === 'function') return true
  return typeof schema === 'object' && schema !== null && ('jsonSchema' in schema || '~standard' in schema)
}

async function startServer(
  name: string,
  entry: ServerEntry,
  { folder, parts }: { readonly folder: string; readonly parts: Parts },
): Promise<ToolSet> {
  const { Client } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'skillstoke', version: readVersion() })
  // A server does not get the keys of this process.
  const { transport, readErrors } = await createTransport(entry, {}, folder)
  parts.defer(async () => await client.close())
  try {
    await client.connect(transport, { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    const { tools } = await client.listTools()
    const names = tools.map(({ name: tool }) => toName(name, tool))
    const twice = names.find((each, index) => names.indexOf(each) !== index)
    if (twice !== undefined) throw new Error(`two of its tools get the name "${twice}"; rename one of them`)
    return Object.fromEntries(
      tools.map(({ name: tool, description = '', inputSchema }): [string, ToolSet[string]] => [
        toName(name, tool),
        {
          description,
          inputSchema: jsonSchema(inputSchema),
          execute: async (input: unknown, { abortSignal: signal }: ToolExecutionOptions<unknown>) => {
            const call = { name: tool, arguments: input as Record<string, unknown> }
            return toText(await client.callTool(call, signal && { signal }))
          },
        },
      ]),
    )
  } catch (cause) {
    const errors = readErrors().trim()
    const address = entry.kind === 'http' ? ` (${entry.url})` : ''
    const fault = `the MCP server "${name}"${address} cannot be used: ${toMessage(cause)}`
    throw new UsageError(errors === '' ? fault : `${fault}\n${errors}`, { cause })
  }
}

function toName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`.replace(/[^\w-]/g, '_').slice(0, MAX_NAME)
}

/**
 * Returns the text of an answer. Models get only the kind of other parts, for example of images.
 * @throws the text, if the tool reports an error, because the AI SDK marks it as an error for the model
 */
function toText({ content, isError = false }: CallToolResult): string {
  const texts = content.map(part => {
    if (part.type === 'text') return part.text
    return part.type === 'resource' && 'text' in part.resource ? part.resource.text : `[${part.type}]`
  })
  if (isError) throw new Error(texts.join('\n'))
  return texts.join('\n')
}
