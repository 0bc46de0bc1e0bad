import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MCP_CLIENT_IDS } from '../packages/cli/src/mcp-clients/client-ids.ts'
import { stoke, stokeBeside } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

/** The clients that have no file for one project. */
const USER_ONLY: ReadonlySet<string> = new Set(['claude-desktop', 'windsurf', 'goose', 'inspector'])

interface Place {
  readonly stoke: (...args: string[]) => { status: number | null; stdout: string; stderr: string }
  /** Runs the command without blocking this process. Resolves with the whole output. */
  readonly stokeBeside: (...args: string[]) => Promise<string>
  readonly folder: TemporaryFolder
}

/** A project with skills, and a home folder for the files of the clients. */
function openProject(): Place & Disposable {
  const folder = new TemporaryFolder()
  folder.writeSkill('project/skills/refund')
  const env = {
    HOME: folder.at('home'),
    SKILLSTOKE_STATE: folder.at('state'),
    CODEX_HOME: '',
    XDG_CONFIG_HOME: '',
  }
  const cwd = folder.at('project')
  return {
    folder,
    stoke: (...args) => stoke(args, { cwd, env }),
    stokeBeside: async (...args) => {
      const { stdout, stderr } = await stokeBeside(args, { cwd, env })
      return stdout + stderr
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('an entry has the sandbox and the tools that the command names', () => {
  using it = openProject()
  const tools = [
    '--sandbox',
    'require',
    '--command-tools',
    '--author-tools',
    '--confirm-scripts',
    '--page-size',
    '50',
  ]
  const { stdout } = it.stoke('mcp', ...tools, 'install', 'cursor', '--json')
  const { entry } = JSON.parse(stdout) as { entry: { args: string[] } }
  expect(entry.args).toEqual(expect.arrayContaining(tools))
  expect(it.stoke('mcp', 'install', 'cursor').stdout).toContain('replaced "skillstoke"')
})

test('an installation refuses a folder that does not exist, and writes nothing', () => {
  using it = openProject()
  const { status, stderr } = it.stoke('mcp', 'install', 'claude-code', '--root', 'nope')
  expect([status, stderr]).toEqual([2, expect.stringContaining('the folder "nope" does not exist')])
  expect(it.stoke('mcp', 'uninstall', 'claude-code').stdout).toContain('has no server')
})

test('--check refuses a folder that does not exist', () => {
  using it = openProject()
  const { status, stderr } = it.stoke('mcp', '--check', '--root', 'nope')
  expect([status, stderr]).toEqual([2, expect.stringContaining('the folder "nope" does not exist')])
})

test('--check sends a token that is in the file, and prints no part of it', async () => {
  using it = openProject()
  const token = 'secret-'.padEnd(40, 'x')
  const headers: (string | undefined)[] = []
  const server = createServer((request, response) => {
    headers.push(request.headers.authorization)
    response.writeHead(500).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const entry = { url: `http://127.0.0.1:${port}/mcp`, headers: { Authorization: `Bearer ${token}` } }
  it.folder.write('project/.cursor/mcp.json', JSON.stringify({ mcpServers: { skillstoke: entry } }))
  const output = await it.stokeBeside('mcp', '--check', 'cursor')
  server.close()
  expect(new Set(headers)).toEqual(new Set([`Bearer ${token}`]))
  expect(output).not.toContain('secret')
})

describe.each(MCP_CLIENT_IDS)('stoke mcp install %s', client => {
  test('writes an entry that starts the server from any folder, and uninstall removes it', () => {
    using it = openProject()
    const installed = it.stoke('mcp', 'install', client, '--json')
    expect(installed.status, installed.stderr).toBe(0)
    const { path, scope, entry } = JSON.parse(installed.stdout) as {
      path: string
      scope: string
      entry: unknown
    }
    expect(scope).toBe(USER_ONLY.has(client) ? 'user' : 'project')
    expect(readFileSync(path, 'utf8')).toContain(it.folder.at('project/skills'))
    expect(entry).toBeTypeOf('object')
    const checked = it.stoke('mcp', '--check', client, '--json')
    expect(checked.status, checked.stderr).toBe(0)
    const { checks, features, installed: found } = JSON.parse(checked.stdout) as Record<string, unknown[]>
    expect(checks).toMatchObject([
      { version: '2025-11-25', ok: true, tools: 4, prompts: 1, resources: 1, skills: 1 },
      { version: '2026-07-28', ok: true, tools: 4, prompts: 1, resources: 1, skills: 1 },
    ])
    expect(features?.length).toBeGreaterThan(5)
    expect(found).toEqual([{ client, path }])
    expect(it.stoke('mcp', 'uninstall', client).stdout).toContain('removed "skillstoke"')
    expect(it.stoke('mcp', 'uninstall', client).status).toBe(1)
    const parent = dirname(path)
    if (basename(parent).startsWith('.')) expect(existsSync(parent)).toBe(false)
    else expect(readdirSync(parent).filter(name => name !== 'skills')).toEqual([])
    expect(it.stoke('mcp', '--check', client).stdout).toContain('has no server "skillstoke"')
  }, 60_000)
})

test('a dry run changes nothing, and --print-config prints only the entry on standard output', () => {
  using it = openProject()
  expect(it.stoke('mcp', 'install', 'cursor', '--dry-run').stdout).toContain(
    'would write to .cursor/mcp.json',
  )
  expect(it.stoke('mcp', '--check', 'cursor').status).toBe(1)
  const printed = it.stoke('mcp', '--print-config', 'cursor', '--root', 'skills')
  expect(JSON.parse(printed.stdout)).toHaveProperty('mcpServers.skillstoke.command')
  expect(printed.stderr).toContain('.cursor/mcp.json')
})

test('--print-config without a client prints the JSON that most clients read', () => {
  using it = openProject()
  const { stdout, stderr } = it.stoke('mcp', '--print-config', '--root', 'skills', '--name', 'mine')
  expect(JSON.parse(stdout)).toMatchObject({
    mcpServers: { mine: { type: 'stdio', args: expect.any(Array) } },
  })
  expect(stderr.trim()).toBe('')
  const remote = it.stoke('mcp', '--print-config', '--url', 'https://x.example.com/mcp', '--token-env', 'T')
  expect(JSON.parse(remote.stdout).mcpServers.skillstoke.headers.Authorization).toMatch(/^Bearer \$\{T\}$/)
})

test('roots outside of the project go into the file of the user', () => {
  using it = openProject()
  it.folder.writeSkill('elsewhere/maps')
  const { stdout } = it.stoke('mcp', 'install', 'codex', '--root', it.folder.at('elsewhere'), '--json')
  expect(JSON.parse(stdout)).toMatchObject({ scope: 'user', path: it.folder.at('home/.codex/config.toml') })
})

test.each([
  [['mcp', 'install', 'notepad'], '"notepad" is not one of claude-code, claude-desktop, codex'],
  [['mcp', 'install', 'inspector', '--scope', 'project'], 'use --scope user'],
  [['mcp', 'install', 'claude-desktop', '--url', 'http://x/mcp'], 'Settings > Connectors'],
  [['mcp', 'install', 'cursor', '--url', 'skills'], '"skills" is no address of an MCP server'],
  [['mcp', 'install', 'cursor', '--token-env', 'T'], '--token-env needs --url'],
  [['mcp', 'install', 'cursor', '--name', 'my skills'], '--name "my skills" is no name'],
  [['mcp', 'install', 'cursor', '--name', '__proto__'], '--name "__proto__" is no name'],
  [['mcp', '--print-config', 'codex', '--name', ''], '--name "" is no name'],
])('stoke %j is refused', (args, reason) => {
  using it = openProject()
  expect(it.stoke(...args)).toMatchObject({ status: 2, stderr: expect.stringContaining(reason) })
})

test('without a folder of skills, install says which folders it looked for', () => {
  using folder = new TemporaryFolder()
  folder.write('readme.md', 'nothing')
  const { status, stderr } = stoke(['mcp', 'install', 'cursor'], {
    cwd: folder.path,
    env: { HOME: folder.path },
  })
  expect([status, stderr]).toEqual([2, expect.stringContaining('there is no folder with skills here')])
})

test('the MCP Inspector reads the file that install wrote', () => {
  using it = openProject()
  it.stoke('mcp', 'install', 'inspector')
  const run = spawnSync(
    resolve('node_modules/.bin/mcp-inspector'),
    [
      '--cli',
      '--config',
      it.folder.at('home/.mcp-inspector/mcp.json'),
      '--server',
      'skillstoke',
      '--method',
      'prompts/list',
    ],
    { encoding: 'utf8', timeout: 60_000, cwd: it.folder.at('project') },
  )
  expect(run.status, run.stderr).toBe(0)
  expect(run.stdout).toContain('"refund"')
}, 60_000)
