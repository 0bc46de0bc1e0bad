// Live skills in an MCP server of your own, with Express. Run it with `npx node examples/mcp-with-express/main.ts`. The
// program connects a client, edits a skill and checks which text the client gets.
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
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
import express from 'express'

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

await using skills = await createSkillRuntime({ sources: [directory(folder)] })
await using server = createSkillsServer(skills, { createServer: createShop })
const app = express()
app.all(
  '/mcp',
  getRequestListener(
    request =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      server.fetch(request),
  ),
)
const http = app.listen(0, '127.0.0.1')
await new Promise(resolve => http.once('listening', resolve))
const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)

const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
await client.connect(new StreamableHTTPClientTransport(url))
const uri = 'skill://refund/SKILL.md'
const changed = new Promise<string>(resolve =>
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri)),
)
await client.listen({ resourceSubscriptions: [uri] })
const send = async (): Promise<string> =>
  JSON.stringify((await client.getPrompt({ name: 'refund', arguments: { arguments: '1042' } })).messages)

const { prompts } = await client.listPrompts()
console.log('prompts:', prompts.map(({ name }) => name).join(', '))
assert.match(await send(), /30 days/)

await writeFile(skillFile, (await readFile(skillFile, 'utf8')).replace('30 days', '60 days'))
assert.equal(await changed, uri)
assert.match(await send(), /60 days/)
console.log('the client got the edited text')

await client.close()
http.close()
await rm(folder, { recursive: true })
