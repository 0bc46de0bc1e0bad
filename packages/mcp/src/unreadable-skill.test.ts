import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { type FileReadOptions, FileSource, MemoryFileSystem, type OpenedFile } from '@skillstoke/core/source'
import { childProcesses } from '@skillstoke/scripts'
import { expect, test } from 'vitest'
import { ERAS, type Harness, open, text } from '../../../tests/fixtures/mcp-harness.ts'

/** A program writes into the folder of `pdf` during every read, so the newest text of `pdf` is never known. */
class BusyFileSystem extends MemoryFileSystem {
  isBusy = false
  #writes = 0

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const opened = await super.read(path, options)
    if (this.isBusy && path.startsWith('/skills/pdf/')) this.write('/skills/pdf/log', String(++this.#writes))
    return opened
  }
}

const COMMAND = `import { defineCommand } from 'skillstoke/command'
export const go = defineCommand({ name: 'go', description: 'Goes.', run: () => 'went' })`

async function openBusy(): Promise<Harness> {
  const fileSystem = new BusyFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/pdf/scripts/go.js': COMMAND,
    '/skills/maps/SKILL.md': text('maps'),
  })
  const source = new FileSource({ fileSystem, writable: fileSystem, root: '/skills', label: 'skills' })
  const options = { authorTools: true, adminTools: true, commandTools: true }
  const it = await open({}, options, { sources: [source], scripts: childProcesses() })
  await it.skills.scripts.ready()
  fileSystem.isBusy = true
  fileSystem.write('/skills/pdf/SKILL.md', text('pdf', 'New.'))
  return it
}

const REASON = 'so its newest text is unknown'

test.each(ERAS)(
  'a skill whose newest text cannot be read fails each tool with a result that the model reads, protocol version %s',
  async era => {
    await using it = await openBusy()
    const client = await it.connect(era)
    const inputs: Readonly<Record<string, Record<string, unknown>>> = {
      skill: { name: 'pdf' },
      read_skill_file: { skill: 'pdf', path: 'SKILL.md' },
      run_skill_command: { skill: 'pdf', command: 'go' },
      run_skill_script: { skill: 'pdf', path: 'scripts/go.js' },
      'pdf.go': {},
    }
    for (const [name, input] of Object.entries(inputs)) {
      const answer = await client.callTool({ name, arguments: input })
      expect({ name, answer }).toMatchObject({ answer: { isError: true } })
      expect(JSON.stringify(answer.content)).toContain(REASON)
    }
    const name = 'pdf'
    const others = {
      'skill.reload': { name },
      'skill.unload': { name },
      reload_skills: {},
      skill: { name: 'maps' },
    }
    for (const [name, input] of Object.entries(others))
      expect(await client.callTool({ name, arguments: input })).toHaveProperty('content')
  },
)

test.each(ERAS)(
  'a skill whose newest text cannot be read fails prompts/get, resources/read and skills/get with a JSON-RPC error, protocol version %s',
  async era => {
    await using it = await openBusy()
    const client = await it.connect(era)
    const uri = 'skill://pdf/SKILL.md'
    await expect(client.getPrompt({ name: 'pdf' })).rejects.toThrow(REASON)
    await expect(client.readResource({ uri })).rejects.toThrow(REASON)
    await expect(new SkillsClient(client).get(uri)).rejects.toThrow(REASON)
  },
)
