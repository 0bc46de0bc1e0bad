import { McpServer } from '@modelcontextprotocol/server'
import { createSkillRuntime } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { open } from '../../../tests/fixtures/mcp-harness.ts'
import { createSkillsServer } from './skill-mcp.ts'

const CONTROLS = 'a\u202e\rb\u0085c\u001b[31m'

test('an error of a handler of the host repeats no control characters, not even in its data', async () => {
  await using it = await open({}, { createServer: () => new McpServer({ name: 'x', version: '1' }) })
  const client = await it.connect('2025-11-25')
  const { message, data } = await client.readResource({ uri: `file:///${CONTROLS}` }).then(
    () => expect.unreachable(),
    (thrown: Error & { readonly data: unknown }) => thrown,
  )
  expect(`${message} ${JSON.stringify(data)}`).not.toMatch(/[^ -~]/)
})

test('the error of an HTTP request that no server object sees repeats no control characters', async () => {
  await using skills = await createSkillRuntime({ sources: [] })
  await using server = createSkillsServer(skills)
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': CONTROLS,
    'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } })
  const request = new Request('http://localhost/mcp', { method: 'POST', headers, body })
  const response = await server.fetch(request)
  expect(response.status).toBe(400)
  const answer = await response.text()
  expect(answer).toContain('Unsupported protocol version: a\\\\u202e')
  expect(answer).not.toMatch(/[^ -~]/)
})
