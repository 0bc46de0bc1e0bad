import { FileSource, MemoryDecisions, MemoryFileSystem } from '@skillstoke/core/source'
import { expect, test } from 'vitest'
import { ERAS, type Harness, open, text } from './testing/mcp-harness.ts'

/** Opens a server process over shared files and shared decisions. */
async function openServer(fileSystem: MemoryFileSystem, decisions: MemoryDecisions): Promise<Harness> {
  const source = new FileSource({ fileSystem, writable: fileSystem, root: '/skills', label: 'skills' })
  return await open({}, { authorTools: true }, { sources: [source], state: { decisions } })
}

test.each(ERAS)(
  'T51: a skill that one client wrote is not live for the first client of another process, protocol version %s',
  async era => {
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
    const decisions = new MemoryDecisions()
    await using one = await openServer(fileSystem, decisions)
    await using two = await openServer(fileSystem, decisions)
    const [writer, reader] = [await one.connect('2025-11-25'), await two.connect(era)]
    const file = { skill_name: 'notes', relative_path: 'SKILL.md', content: text('notes', 'Of an agent.') }
    const written = await writer.callTool({ name: 'write_skill_file', arguments: file })
    expect(JSON.stringify(written.content)).toContain('It is live in this conversation.')
    const load = { name: 'skill', arguments: { name: 'notes' } }
    expect(JSON.stringify((await writer.callTool(load)).content)).toContain('Of an agent.')
    await two.skills.reload()
    expect(await reader.callTool(load)).toMatchObject({ isError: true })
  },
)
