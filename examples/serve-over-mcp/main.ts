// An MCP endpoint in your own server. Run it with `npx node examples/serve-over-mcp/main.ts`. The program connects a client, edits a
// skill and checks which text the client gets.
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { SkillMcp } from '@skillstoke/mcp'

const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
await cp(new URL('../../demo/skills', import.meta.url), folder, { recursive: true })
const skillFile = join(folder, 'refund/SKILL.md')

await using skills = await createSkillRuntime({ sources: [directory(folder)] })
await using mcp = new SkillMcp(skills, { name: 'support-skills', version: '1.0.0' })

// In your server, check the headers Host and Origin of a request, and then pass the request to this function. With Hono, for example, use
// `app.all('/mcp', context => mcp.fetch(context.req.raw))`. In this example, the client calls the function directly.
const handle = (request: Request): Promise<Response> => mcp.fetch(request)

const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => handle(new Request(url, init))
await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch }))
const changed = new Promise<string>(resolve =>
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri)),
)
const uri = 'skill://refund/SKILL.md'
await client.listen({ resourceSubscriptions: [uri] })

const reader = new SkillsClient(client)
const { skill } = await reader.get(uri)
console.log('before:', (await reader.read(skill)).body?.split('\n')[2])

await writeFile(skillFile, (await readFile(skillFile, 'utf8')).replace('30 days', '60 days'))
assert.equal(await changed, uri)

const { skill: newest } = await reader.get(uri)
const { body, verified } = await reader.read(newest)
console.log('after: ', body?.split('\n')[2])
assert.match(body ?? '', /60 days/)
assert.equal(verified, true)

await client.close()
await rm(folder, { recursive: true })
