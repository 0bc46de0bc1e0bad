import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { FileSource, MemoryDecisions, MemoryFileSystem } from '@skillstoke/core/source'
import { expect, test } from 'vitest'
import { ERAS, type Harness, open, text } from '../../../tests/fixtures/mcp-harness.ts'
import type { SkillMcpOptions } from './mcp-options.ts'

/** Opens a server process over shared files and shared decisions. */
async function openServer(
  fileSystem: MemoryFileSystem,
  decisions: MemoryDecisions,
  options: SkillMcpOptions = {},
): Promise<Harness> {
  const source = new FileSource({ fileSystem, writable: fileSystem, root: '/skills', label: 'skills' })
  return await open({}, { authorTools: true, ...options }, { sources: [source], state: { decisions } })
}

const NOTES = { skill_name: 'notes', relative_path: 'SKILL.md', content: text('notes', 'Of an agent.') }
const WRITE = { name: 'write_skill_file', arguments: NOTES }
const LOAD = { name: 'skill', arguments: { name: 'notes' } }

test.each(ERAS)(
  'T51: a skill that one client wrote is not live for the first client of another process, protocol version %s',
  async era => {
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
    const decisions = new MemoryDecisions()
    await using one = await openServer(fileSystem, decisions)
    await using two = await openServer(fileSystem, decisions)
    const [writer, reader] = [await one.connect('2025-11-25'), await two.connect(era)]
    const written = await writer.callTool(WRITE)
    expect(JSON.stringify(written.content)).toContain('It is live in this conversation.')
    expect(JSON.stringify((await writer.callTool(LOAD)).content)).toContain('Of an agent.')
    await two.skills.reload()
    expect(await reader.callTool(LOAD)).toMatchObject({ isError: true })
  },
)

test('T51: a session that continues on a replica sees what its client wrote, and other sessions there do not', async () => {
  const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
  const [decisions, options] = [new MemoryDecisions(), { sessionKey: 'k'.repeat(40) }]
  await using one = await openServer(fileSystem, decisions, options)
  await using two = await openServer(fileSystem, decisions, options)
  const other = await two.connect('2025-11-25')
  let replica = one
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
    fetch: (input, init) => replica.mcp.fetch(new Request(input, init)),
  })
  await client.connect(transport)
  expect(JSON.stringify(await client.callTool(WRITE))).toContain('It is live in this conversation.')
  replica = two
  await two.skills.reload()
  expect(JSON.stringify((await client.callTool(LOAD)).content)).toContain('Of an agent.')
  expect(await other.callTool(LOAD)).toMatchObject({ isError: true })
  await client.close()
})
