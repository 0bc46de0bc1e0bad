// Live skills in an MCP server of your own, with Hono. Run it with `npx node examples/mcp-with-hono/main.ts`. The program
// connects a client, edits a skill and checks which text the client gets.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { createSkillsServer } from '@skillstoke/mcp'
import { bearerTokens } from '@skillstoke/mcp/auth'
import { Hono } from 'hono'

const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
await cp(new URL('../../demo/skills', import.meta.url), folder, { recursive: true })
const skillFile = join(folder, 'refund/SKILL.md')

/** Your server, with a tool of its own. */
function createShop(): McpServer {
  const mcp = new McpServer({ name: 'shop', version: '1.0.0' })
  mcp.registerTool('stock', { description: 'Counts the kettles.' }, () => ({
    content: [{ type: 'text', text: '7 kettles' }],
  }))
  return mcp
}

const token = randomBytes(32).toString('base64url') // in your server, from its configuration
const access = bearerTokens([{ name: 'help-desk', token, scope: { include: ['refund', 'tone-*'] } }])

await using skills = await createSkillRuntime({ sources: [directory(folder)] })
await using server = createSkillsServer(skills, { createServer: createShop, access })
const app = new Hono()
app.all(
  '/mcp',
  ({ req: { raw } }) =>
    hostHeaderValidationResponse(raw, localhostAllowedHostnames()) ??
    originValidationResponse(raw, localhostAllowedOrigins()) ??
    server.fetch(raw),
)
const http = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
await new Promise(resolve => http.once('listening', resolve))
const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)

const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
const requestInit = { headers: { authorization: `Bearer ${token}` } }
await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
const call = async (name: string, input: Record<string, unknown> = {}): Promise<string> =>
  JSON.stringify((await client.callTool({ name, arguments: input })).content)

const { tools } = await client.listTools()
console.log('tools:', tools.map(({ name }) => name).join(', '))
assert.match(await call('stock'), /7 kettles/)
assert.match(await call('skill', { name: 'refund' }), /30 days/)
assert.match(await call('skill', { name: 'shipping' }), /no skill/, 'outside the scope of this client')

await writeFile(skillFile, (await readFile(skillFile, 'utf8')).replace('30 days', '60 days'))
assert.match(await call('skill', { name: 'refund' }), /60 days/)
console.log('the client got the edited text')

await client.close()
http.close()
await rm(folder, { recursive: true })
