// The use case of omni: a developer edits the code of tools while their server runs. The next call runs the edited code. After a broken edit, the old code continues to answer calls. The client is notified when commands are added or removed.
// Run it with `npx node examples/replace-code-while-it-runs/main.ts`.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { PRESETS, SkillManager, scanPaths } from '@skillstoke/compat'
import { SkillMcp } from '@skillstoke/mcp'

const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
await mkdir(join(folder, 'git/scripts/lib'), { recursive: true })
const save = async (path: string, text: string): Promise<void> =>
  await writeFile(join(folder, 'git', path), text)
const command = (name: string, body: string): string => `
  import { defineCommand } from 'skillstoke/command'
  import { branch } from './lib/branch.ts'
  export const ${name} = defineCommand({
    name: '${name}',
    description: 'Shows the ${name} of the repository.',
    input: { type: 'object', properties: { short: { type: 'boolean' } }, additionalProperties: false },
    run: ({ short }) => ${body},
  })`
await save('SKILL.md', '---\nname: git\ndescription: Looks at a repository.\n---\nRun status first.\n')
await save('scripts/lib/branch.ts', 'export const branch: string = "main"\n')
await save('scripts/status.ts', command('status', '(short ? branch : "On branch " + branch + ".")'))

await using manager = await SkillManager.open(folder)
await using mcp = new SkillMcp(manager.runtime, { ...PRESETS.omni.mcp, notificationIntervalMs: 50 })

// A client that lists the tools of the server again after each notification.
const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => mcp.fetch(new Request(url, init))
await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch }))
let onTools = (): void => undefined
client.setNotificationHandler('notifications/tools/list_changed', () => onTools())
await client.listen({ toolsListChanged: true })
const call = async (name: string, args = {}): Promise<string> => {
  const { content } = await client.callTool({ name, arguments: args })
  const [first] = content as readonly { readonly text: string }[]
  return first?.text.trimEnd() ?? ''
}
console.log('before:', await call('git.status'))
assert.equal(await call('git.status'), 'On branch main.')

// Edits a module that the command imports. The next call runs the edited code.
await save('scripts/lib/branch.ts', 'export const branch: string = "trunk"\n')
console.log('after an edit:', await call('git.status'))
assert.equal(await call('git.status', { short: true }), 'trunk')

// A broken edit. The old code continues to answer calls, and a reload reports the position of the error.
await save('scripts/lib/branch.ts', 'export const branch: string = \n')
assert.equal(await call('git.status', { short: true }), 'trunk')
const failed = await call('skill.reload', { name: 'git' })
console.log('broken:', failed)
assert.match(failed, /could not be reloaded: scripts\/lib\/branch\.ts:\d+:\d+ .*; commands at \w{8}: status/)
await save('scripts/lib/branch.ts', 'export const branch: string = "main"\n')

// A new command. The client is notified of the new command and lists it.
const told = new Promise<void>(resolve => (onTools = resolve))
await save('scripts/log.ts', command('log', '["first", "second"]'))
await manager.getSkill('git')
await told
const tools = (await client.listTools()).tools.map(({ name }) => name)
console.log('tools:', tools.filter(name => name.startsWith('git.')).join(', '))
assert.ok(tools.includes('git.log') && tools.includes('git.status'))

// If the input has an unknown field, the error lists the valid fields.
const answer = await call('git.status', { shrot: true })
console.log('wrong input:', answer)
assert.match(answer, /there is no field "shrot".*the fields are "short"/)

// Without a server, a program can still call the API of omni. This API also finds commands in texts that are not on disk.
const skill = await manager.getSkill('git')
assert.deepEqual(await skill?.execute('log'), ['first', 'second'])
const [record] = await scanPaths([['virtual/scripts/tags.ts', command('tags', '[]')]], 'git', {
  keywords: ['vcs'],
})
assert.equal(record?.toolName, 'git.tags')
assert.deepEqual(record.keywords, ['git', 'tags', 'vcs'])

await client.close()
await rm(folder, { recursive: true })
