import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { BIN, stoke } from './fixtures/cli.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Answer {
  readonly isError?: boolean
  readonly text: string
}

/** Starts `stoke mcp --author-tools`, and returns a function that calls a tool of this process. */
async function startMcp(
  folder: TemporaryFolder,
  ...args: readonly string[]
): Promise<(name: string, input: Record<string, string>) => Promise<Answer>> {
  const places = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const command = [BIN, 'mcp', '--author-tools', ...places, ...args]
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: command, stderr: 'ignore' }),
  )
  onTestFinished(async () => await client.close())
  return async (name, input) => {
    const { isError, content } = await client.callTool({ name, arguments: input })
    return { ...(isError === true ? { isError } : {}), text: JSON.stringify(content) }
  }
}

function createFolder(): TemporaryFolder {
  const folder = new TemporaryFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  return folder
}

test('T51: what a model wrote over stdio is live for no other client of the machine, now or after a restart', async () => {
  const folder = createFolder()
  folder.writeSkill('skills/pdf')
  const [writer, other] = [await startMcp(folder), await startMcp(folder)]
  const file = { skill_name: 'notes', relative_path: 'SKILL.md', content: skillText('notes') }
  expect((await writer('write_skill_file', file)).text).toContain('It is live in this conversation.')
  expect((await writer('skill', { name: 'notes' })).isError).toBeUndefined()
  expect((await other('skill', { name: 'notes' })).isError).toBe(true)
  const later = await startMcp(folder)
  expect((await later('skill', { name: 'notes' })).isError).toBe(true)
  const { json } = stoke<readonly { name: string }[]>([
    ...['pending', '--json', '--root', folder.at('skills'), '--state', folder.at('state')],
  ])
  expect(json.map(({ name }) => name)).toEqual(['notes'])
})

test('T50: over stdio, a model writes neither into a nested skill nor around its scope', async () => {
  const folder = createFolder()
  folder.writeSkill('skills/team')
  folder.writeSkill('skills/team/pdf')
  const call = await startMcp(folder, '--include', 'team')
  const nested = { skill_name: 'team', relative_path: 'pdf/scripts/x.py', content: 'steal()' }
  expect(await call('write_skill_file', nested)).toMatchObject({
    isError: true,
    text: expect.stringContaining('lies in the folder of another skill; write to that skill'),
  })
  const narrow = await startMcp(folder, '--include', 'pdf')
  const inner = { skill_name: 'pdf', relative_path: 'notes.md', content: 'x' }
  expect(await narrow('write_skill_file', inner)).toMatchObject({
    isError: true,
    text: expect.stringContaining('is part of another skill, which may not be written here'),
  })
})
