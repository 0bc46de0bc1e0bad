import { existsSync, writeFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { BIN, stoke } from '../fixtures/cli.ts'
import { CLIENT_KINDS, startClient } from '../fixtures/mcp-client.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const script = (
  name: string,
  body: string,
  description = `Does ${name}.`,
  input = '{ type: "object" }',
): string =>
  `import { defineCommand } from 'skillstoke/command'
export const ${name} = defineCommand({ name: '${name}', description: '${description}', input: ${input}, async run(input, context) { ${body} } })
`

interface Answer {
  readonly content: readonly { readonly text: string }[]
  readonly isError?: boolean
}

interface Connected extends AsyncDisposable {
  readonly client: Client
  /** The number of notifications about changes of the tool list that the client received. */
  readonly told: { count: number; last: number }
}

/** Connects a client to `stoke mcp` with protocol 2025-11-25, in which clients get notifications of changes. */
async function connect(folder: TemporaryFolder, ...flags: string[]): Promise<Connected> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const told = { count: 0, last: 0 }
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    told.count++
    told.last = performance.now()
  })
  const args = [BIN, 'mcp', '--root', folder.at('skills'), '--state', folder.at('state'), ...flags]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }))
  return { client, told, [Symbol.asyncDispose]: async () => await client.close() }
}

function write(folder: TemporaryFolder, text: string, path = 'git/scripts/status.js'): string {
  folder.writeSkill(`skills/${path.split('/')[0]}`)
  return folder.write(`skills/${path}`, text)
}

const names = async (client: Client): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)
const call = async (client: Client, name: string, input: Record<string, unknown>): Promise<Answer> =>
  (await client.callTool({ name, arguments: input })) as unknown as Answer
/** Returns the first text of an answer, without the line break at its end. */
const textOf = ({ content }: Answer): string => content[0]?.text.replace(/\n$/, '') ?? ''

describe.each(CLIENT_KINDS)('the client %s over stdio', kind => {
  test(`a client runs a command, sees an edit at the next call, and gets an explanation for a wrong name ${verifies('OMNI-01', 'OMNI-14', 'OMNI-28')}`, async () => {
    using folder = new TemporaryFolder()
    const file = write(folder, script('status', 'return "old"'))
    const args = [BIN, 'mcp', '--root', folder.at('skills'), '--state', folder.at('state')]
    await using client = await startClient(kind, { kind: 'stdio', command: process.execPath, args })
    const { tools } = await client.ask<{ tools: { name: string; annotations?: unknown }[] }>('tools/list')
    expect(tools.map(({ name }) => name)).toEqual([
      'skill',
      'read_skill_file',
      'run_skill_command',
      'run_skill_script',
    ])
    expect(tools[2]?.annotations).toEqual({ readOnlyHint: false, openWorldHint: true })
    const run = async (input: unknown): Promise<Answer> =>
      await client.ask<Answer>('tools/call', { name: 'run_skill_command', arguments: input })
    const first = await run({ skill: 'git', command: 'status' })
    expect([textOf(first), first.isError]).toEqual(['old', false])
    // The manual test from the guide: edit the script and call the command again.
    writeFileSync(file, script('status', 'return "new"'))
    expect(textOf(await run({ skill: 'git', command: 'status' }))).toBe('new')
    expect(await run({ skill: 'git', command: 'sttaus' })).toMatchObject({
      isError: true,
      content: [{ text: 'there is no command "git.sttaus"; did you mean "git.status"?\n' }],
    })
    expect(await run({ skill: 'gti', command: 'status' })).toMatchObject({
      isError: true,
      content: [{ text: 'no skill "gti"; did you mean "git"?\n' }],
    })
    for (const [name, hint] of [
      ['git', 'it is a skill; call the tool "skill"'],
      [
        'git.status',
        'it is a command of a skill; call the tool "run_skill_command" with {"skill":"git","command":"status"}',
      ],
      ['git__status', 'it is a command of a skill'],
    ] as const)
      await expect(client.ask('tools/call', { name, arguments: {} })).rejects.toThrow(hint)
  })
})

describe('separate tools for commands', () => {
  test(`the tools change with the skills, and a client is notified of the first and the last change of a burst ${verifies('OMNI-11', 'OMNI-12', 'OMNI-21', 'OMNI-X10', 'OMNI-X11', 'OMNI-B05', 'OMNI-B06', 'OMNI-B07')}`, async () => {
    using folder = new TemporaryFolder()
    write(folder, script('status', 'return 1'))
    await using connected = await connect(folder, '--command-tools')
    const { client, told } = connected
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
    expect(await names(client)).toContain('git.status')
    expect(textOf(await call(client, 'git.status', {}))).toBe('1')
    // On a slow machine, the first commands are known only after the client has connected.
    const atStart = told.count
    // New code alone does not change the tool list.
    write(folder, script('status', 'return 2'))
    expect(textOf(await call(client, 'git.status', {}))).toBe('2')
    expect(told.count).toBe(atStart)
    // The client must be notified even if the server found the new command during a call of this client.
    write(folder, script('log', 'return 3'), 'git/scripts/log.js')
    await call(client, 'skill', { name: 'git' })
    await expect.poll(() => told.count).toBe(atStart + 1)
    expect(await names(client)).toContain('git.log')
    // A burst of edits causes one notification at its start and one at its end, whatever the number of edits.
    await expect.poll(() => performance.now() - told.last).toBeGreaterThan(400)
    const before = told.count
    for (let i = 0; i < 30; i++) {
      write(folder, script('status', 'return 2', `Described for the ${i}th time.`))
      if (i % 10 === 0) await call(client, 'skill', { name: 'git' })
    }
    await expect
      .poll(
        async () => (await client.listTools()).tools.find(({ name }) => name === 'git.status')?.description,
      )
      .toBe('Described for the 29th time.')
    await expect.poll(() => performance.now() - told.last).toBeGreaterThan(400)
    expect(told.count - before).toBeGreaterThan(0)
    expect(told.count - before).toBeLessThan(8)
    // A removed command disappears from the list, and calling this command fails with a reason.
    folder.remove('skills/git/scripts/log.js')
    await expect.poll(async () => await names(client)).not.toContain('git.log')
    await expect(call(client, 'git.log', {})).rejects.toThrow('there is no tool "git.log"')
  })

  test(`skill.reload adds the tools of a skill to the tool list, and skill.unload removes these tools ${verifies('OMNI-13', 'OMNI-18', 'OMNI-X15', 'OMNI-B08')}`, async () => {
    using folder = new TemporaryFolder()
    write(folder, script('status', 'return 1'))
    await using connected = await connect(folder, '--command-tools', '--admin-tools')
    const { client, told } = connected
    expect(await names(client)).toEqual([
      'skill',
      'read_skill_file',
      'run_skill_command',
      'run_skill_script',
      'skill.reload',
      'skill.unload',
      'git.status',
    ])
    expect(await call(client, 'skill.reload', { name: 'git' })).toMatchObject({ isError: false })
    await expect.poll(() => told.count).toBe(1)
    expect(textOf(await call(client, 'skill.unload', { name: 'git' }))).toContain('"git" was unloaded')
    await expect.poll(() => told.count).toBe(2)
    expect(await names(client)).not.toContain('git.status')
    expect(await call(client, 'skill.unload', { name: 'git' })).toMatchObject({ isError: true })
    expect(textOf(await call(client, 'skill.reload', { name: 'git' }))).toMatch(
      /^"git" was not loaded, and is now; commands at [0-9a-f]{8}: status$/,
    )
    expect(await names(client)).toContain('git.status')
    expect(await call(client, 'skill.reload', { name: 'nobody' })).toMatchObject({
      isError: true,
      content: [{ text: 'there is no skill "nobody"\n' }],
    })
    write(
      folder,
      'import "skillstoke/command"\nimport { defineCommand } from "skillstoke/command"\nconst = 1',
    )
    const failed = await call(client, 'skill.reload', { name: 'git' })
    expect(failed.isError).toBe(true)
    expect(textOf(failed)).toMatch(
      /^"git" could not be reloaded: scripts\/status\.js:3:7 .*; commands at [0-9a-f]{8}: status$/,
    )
    expect(textOf(await call(client, 'git.status', {}))).toBe('1')
  })
})

test('progress reaches the client that asked for it, and a cancelled request ends the command', async () => {
  using folder = new TemporaryFolder()
  folder.write('out/before', '')
  const mark = folder.at('out/ended')
  folder.write(
    'skills/work/SKILL.md',
    `---\nname: work\ndescription: Works.\nmetadata:\n  capabilities: fs.write:${folder.at('out')}\n---\nx\n`,
  )
  folder.write(
    'skills/work/scripts/go.js',
    script(
      'go',
      `for (let i = 1; i <= 3; i++) { context.progress(i, 3, 'step ' + i); await new Promise(resolve => setTimeout(resolve, 80)) }
       if (input.wait) {
         if (!context.signal.aborted) await new Promise(resolve => context.signal.addEventListener('abort', resolve))
         ;(await import('node:fs')).writeFileSync(${JSON.stringify(mark)}, 'aborted')
       }
       return 'done'`,
    ),
  )

  expect(
    stoke(['grant', 'work', '--yes', '--root', folder.at('skills'), '--state', folder.at('state')]).status,
  ).toBe(0)
  await using connected = await connect(folder)
  const { client } = connected
  const seen: unknown[] = []
  const request = { name: 'run_skill_command', arguments: { skill: 'work', command: 'go' } }
  const result = await client.callTool(request, { onprogress: progress => void seen.push(progress) })
  expect(result.content[0]).toMatchObject({ text: 'done\n' })
  expect(seen).toEqual([
    { progress: 1, total: 3, message: 'step 1' },
    { progress: 2, total: 3, message: 'step 2' },
    { progress: 3, total: 3, message: 'step 3' },
  ])
  const controller = new AbortController()
  const waiting = client.callTool(
    { ...request, arguments: { ...request.arguments, input: { wait: true } } },
    { signal: controller.signal, onprogress: ({ progress }) => progress === 3 && controller.abort() },
  )
  await expect(waiting).rejects.toThrow()

  await expect.poll(() => existsSync(mark)).toBe(true)
})
