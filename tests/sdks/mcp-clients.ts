import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents'
import type { Target } from '../fixtures/mcp-client-program.ts'

/** An MCP client of an agent SDK, connected to a server. */
export interface SdkMcpClient extends AsyncDisposable {
  /** The protocol version that the client negotiated. Absent if the SDK does not show it. */
  readonly version?: string
  readonly listTools: () => Promise<readonly string[]>
  /** Returns the text of the result. */
  readonly call: (name: string, input: Record<string, unknown>) => Promise<string>
  readonly readResource: (uri: string) => Promise<string>
  /** Absent if the SDK has no prompts. */
  readonly prompts?: SdkPrompts
}

interface SdkPrompts {
  readonly list: () => Promise<readonly string[]>
  /** Returns the text of the messages. */
  readonly get: (name: string, input: Record<string, string>) => Promise<string>
}

export interface SdkMcpClientKind {
  readonly name: string
  /** The transports and the protocol versions that the SDK supports. */
  readonly supports: readonly { readonly transport: Target['kind']; readonly version: string }[]
  readonly connect: (target: Target, version: string) => Promise<SdkMcpClient>
}

const OLD = '2025-11-25'
const NEW = '2026-07-28'

const aiSdk: SdkMcpClientKind = {
  name: '@ai-sdk/mcp',
  supports: [
    { transport: 'http', version: OLD },
    { transport: 'http', version: NEW },
    { transport: 'stdio', version: OLD },
  ],
  connect: async (target, version) => {
    const client = await createMCPClient({
      transport:
        target.kind === 'http'
          ? { type: 'http', url: target.url.href, headers: target.headers }
          : new StdioTransport({ command: target.command, args: [...target.args] }),
      protocolVersionDiscovery: version === NEW,
    })
    return {
      version: client.initializeResult.protocolVersion,
      listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, input) => toText((await client.callTool({ name, arguments: input })).content),
      readResource: async uri => JSON.stringify((await client.readResource({ uri })).contents),
      prompts: toPrompts(client),
      [Symbol.asyncDispose]: async () => await client.close(),
    }
  },
}

const openaiAgents: SdkMcpClientKind = {
  name: '@openai/agents',
  supports: [
    { transport: 'http', version: OLD },
    { transport: 'stdio', version: OLD },
  ],
  connect: async target => {
    const server =
      target.kind === 'http'
        ? new MCPServerStreamableHttp({
            url: target.url.href,
            requestInit: { headers: target.headers },
          })
        : new MCPServerStdio({ command: target.command, args: [...target.args] })
    await server.connect()
    return {
      listTools: async () => (await server.listTools()).map(({ name }) => name),
      call: async (name, input) => toText(await server.callTool(name, input)),
      readResource: async uri => JSON.stringify((await server.readResource(uri)).contents),
      [Symbol.asyncDispose]: async () => await server.close(),
    }
  },
}

const langchain: SdkMcpClientKind = {
  name: '@langchain/mcp-adapters',
  supports: [
    { transport: 'http', version: OLD },
    { transport: 'stdio', version: OLD },
  ],
  connect: async target => {
    const servers = new MultiServerMCPClient({
      mcpServers: {
        skills:
          target.kind === 'http'
            ? { transport: 'http', url: target.url.href, headers: target.headers }
            : { transport: 'stdio', command: target.command, args: [...target.args] },
      },
    })
    const tools = await servers.getTools()
    const client = await servers.getClient('skills')
    if (client === undefined) throw new Error('the client has no connection to the server')
    return {
      listTools: () => Promise.resolve(tools.map(({ name }) => name)),
      call: async (name, input) => toText(await tools.find(tool => tool.name === name)?.invoke(input)),
      readResource: async uri => JSON.stringify(await servers.readResource('skills', uri)),
      prompts: toPrompts(client),
      [Symbol.asyncDispose]: async () => await servers.close(),
    }
  },
}

export const SDK_MCP_CLIENTS: readonly SdkMcpClientKind[] = [aiSdk, openaiAgents, langchain]

/** The methods for prompts that clients of several SDKs have. */
interface PromptClient {
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>
  getPrompt(params: {
    name: string
    arguments: Record<string, string>
  }): Promise<{ readonly messages: readonly { readonly content: unknown }[] }>
}

function toPrompts(client: PromptClient): SdkPrompts {
  return {
    list: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    get: async (name, input) =>
      toText((await client.getPrompt({ name, arguments: input })).messages.map(({ content }) => content)),
  }
}

/** Joins the texts of the parts of a result. LangChain returns a single part that has metadata without an array. */
function toText(content: unknown): string {
  const parts = Array.isArray(content) ? content : [content]
  return parts
    .map((part: string | { readonly text?: string }) => (typeof part === 'string' ? part : part.text))
    .join('')
}
