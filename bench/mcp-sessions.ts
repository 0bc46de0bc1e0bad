import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { SkillRuntime } from '@skillstoke/core'
import { SkillMcp } from '@skillstoke/mcp'

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A client session with the protocol version 2025-11-25. */
export interface McpSession {
  /** Calls the tool `skill` and returns the text of the answer. */
  load(name: string): Promise<string>
}

/** An MCP server on a local port, with clients that open sessions. */
export class McpSessions implements AsyncDisposable {
  readonly #mcp: SkillMcp
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  private constructor(skills: SkillRuntime) {
    this.#mcp = new SkillMcp(skills)
  }

  static async open(skills: SkillRuntime): Promise<McpSessions> {
    const sessions = new McpSessions(skills)
    await new Promise<void>(resolve => sessions.#server.listen(0, '127.0.0.1', resolve))
    return sessions
  }

  async begin(): Promise<McpSession> {
    const clientInfo = { name: 'bench', version: '0' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const begun = await this.#post({}, { id: 0, method: 'initialize', params })
    await begun.text()
    const session = {
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    }
    await (await this.#post(session, { method: 'notifications/initialized' })).text()
    let id = 0
    return {
      load: async name => {
        const call = { name: 'skill', arguments: { name } }
        const response = await this.#post(session, { id: ++id, method: 'tools/call', params: call })
        const text = await response.text()
        if (!response.ok || text.includes('"isError":true')) throw new Error(text)
        return text
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mcp.close()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #post(session: Record<string, string>, message: object): Promise<Response> {
    const { port } = this.#server.address() as AddressInfo
    return await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...session },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = Object.entries(request.headers).map(
      ([name, value]) => [name, String(value)] as [string, string],
    )
    const answer = await this.#mcp.fetch(
      new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body: await buffer(request) }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(Buffer.from(await answer.arrayBuffer()))
  }
}
