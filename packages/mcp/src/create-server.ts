import { type McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import type { ResolvedMcpOptions } from './mcp-options.ts'

/** Short, because several hosts pass on only the first 2 KB of the instructions, and the names must be among them. */
const INTRODUCTION =
  'Skills are instructions, references and scripts for particular tasks. Before a task that one describes, load it: call ' +
  'the tool "skill" with its name. The answer is always the newest revision.'

/** Creates a server object, of the host or of our own, whose instructions list the skills. */
export function createServer(
  options: ResolvedMcpOptions,
  catalog: string,
  context: McpRequestContext,
): McpServer {
  const { name, version, instructions } = options
  const listed = [instructions, INTRODUCTION, catalog]
  if (options.createServer !== undefined) return withInstructions(options.createServer(context), listed)
  return new McpServer({ name, title: 'Skillstoke', version }, { instructions: joinTexts(listed) })
}

/** Adds texts to the instructions of a server of a host. The SDK has no method for this. */
function withInstructions(mcp: McpServer, texts: readonly string[]): McpServer {
  const own: unknown = Reflect.get(mcp.server, '_instructions')
  Reflect.set(mcp.server, '_instructions', joinTexts([typeof own === 'string' ? own : '', ...texts]))
  return mcp
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter(text => text !== '').join('\n\n')
}
