import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { editConfig, findEntry, writeEdit } from './client-config.ts'
import { CONFIG_SCOPES, MCP_CLIENT_IDS, type McpClientId } from './client-ids.ts'
import { type ClientPlaces, MCP_CLIENTS, type ServerEntry } from './client-table.ts'

/** Texts that have another server, or only a comment, in the format of a file that is no JSON. */
const OTHERS = {
  toml: {
    server: '# mine\nmodel = "o3"\n\n[mcp_servers.other]\ncommand = "x" # keep\n',
    comment: '# mine\n',
  },
  yaml: {
    server: '# mine\nGOOSE_MODE: "auto"\nextensions:\n  other:\n    cmd: x # keep\n    args:\n    - -y\n',
    comment: '# mine\n',
  },
}
/** The clients that have no file for one project. */
const USER_ONLY: Partial<Record<McpClientId, string>> = {
  'claude-desktop': '/home/ann/.config/Claude/claude_desktop_config.json',
  windsurf: '/home/ann/.codeium/windsurf/mcp_config.json',
  goose: '/home/ann/.config/goose/config.yaml',
  inspector: '/home/ann/.mcp-inspector/mcp.json',
}

const SERVER: ServerEntry = { kind: 'stdio', command: '/usr/bin/node', args: ['a b', '--root', 'C:\\skills'] }
const NAME = 'skillstoke'

describe.each(MCP_CLIENT_IDS)('the configuration of %s', id => {
  const client = MCP_CLIENTS[id]
  const edit = (
    path: string,
    entry: Readonly<Record<string, unknown>> | undefined = client.toEntry(SERVER),
  ): string => {
    const result = editConfig(client, path, NAME, entry)
    if (result.isChanged) writeEdit(result)
    return readFileSync(path, 'utf8')
  }

  test('a missing file is created, readable only by the user, and a second install changes nothing', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('deep', 'config')
    edit(path)
    expect(findEntry(client, path, NAME)).toEqual(client.toEntry(SERVER))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(editConfig(client, path, NAME, client.toEntry(SERVER)).isChanged).toBe(false)
  })

  test('removing the entry gives back the text of before', () => {
    using folder = new TemporaryFolder()
    const before =
      client.format === 'toml' || client.format === 'yaml'
        ? OTHERS[client.format].server
        : JSON.stringify(
            client.keys.reduceRight<object>((value, key) => ({ [key]: value }), { other: { url: 'x' } }),
            undefined,
            2,
          ).concat('\n')
    const path = folder.write('config', before)
    edit(path)
    const result = editConfig(client, path, NAME, undefined)
    writeEdit(result)
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(readdirSync(folder.path)).toEqual(['config'])
    expect(editConfig(client, path, NAME, undefined).isChanged).toBe(false)
  })

  test('removing the only entry removes the file, unless it has comments or is a link', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('config')
    edit(path)
    writeEdit(editConfig(client, path, NAME, undefined))
    expect(readdirSync(folder.path)).toEqual([])
    const comment =
      client.format === 'toml' || client.format === 'yaml' ? OTHERS[client.format].comment : '// mine\n{}\n'
    if (client.format !== 'json') {
      folder.write('config', comment)
      edit(path)
      writeEdit(editConfig(client, path, NAME, undefined))
      expect(readFileSync(path, 'utf8')).toContain('mine')
    }
    symlinkSync(folder.at('real'), folder.at('link'))
    edit(folder.at('link'))
    writeEdit(editConfig(client, folder.at('link'), NAME, undefined))
    expect(lstatSync(folder.at('link')).isSymbolicLink()).toBe(true)
    expect(readdirSync(folder.path)).toContain('real')
  })

  test('if the file cannot be written, a copy of it stays and no draft', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('folder', 'config')
    edit(path)
    const result = editConfig(client, path, NAME, { ...client.toEntry(SERVER), env: { A: '1' } })
    // A folder in the place of the file refuses the draft, for every user.
    const before = readFileSync(path, 'utf8')
    folder.write(`folder/config.${process.pid}.tmp/x`, '')
    expect(() => writeEdit(result)).toThrow(`a copy of the file before is ${path}.backup`)
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(readFileSync(`${path}.backup`, 'utf8')).toBe(before)
  })

  test('another install keeps the fields that a person added, the line ends, and a link whose target is missing', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('config')
    symlinkSync(folder.at('real', 'config'), path)
    edit(path)
    edit(path, { ...client.toEntry(SERVER), env: { KEEP: '1' } })
    folder.write('real/config', readFileSync(path, 'utf8').replaceAll('\n', '\r\n'))
    const moved = client.toEntry({ ...SERVER, command: '/usr/bin/other' })
    const after = edit(path, moved)
    expect(findEntry(client, path, NAME)).toEqual({ ...moved, env: { KEEP: '1' } })
    expect(after.split('\n').every(line => line === '' || line.endsWith('\r'))).toBe(true)
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
  })

  test('an entry with quotes in its name is removed again', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('config')
    const name = 'a.b "q"'
    writeEdit(editConfig(client, path, name, client.toEntry(SERVER)))
    writeEdit(editConfig(client, path, name, undefined))
    expect(findEntry(client, path, name)).toBeUndefined()
  })

  test('a file that is not valid is refused and stays as it is', () => {
    using folder = new TemporaryFolder()
    const path = folder.write('config', '{ "mcpServers": [')
    expect(() => edit(path)).toThrow('fix the file first, nothing was changed')
    expect(readFileSync(path, 'utf8')).toBe('{ "mcpServers": [')
  })

  test('each scope has another file, in the place of the client', () => {
    const places: ClientPlaces = {
      home: '/home/ann',
      project: '/projects/shop',
      platform: 'linux',
      environment: {},
    }
    const paths = CONFIG_SCOPES.map(scope => client.pathOf(scope, places))
    if (USER_ONLY[id] !== undefined) expect(paths).toEqual([undefined, USER_ONLY[id]])
    else
      expect([paths[0]?.startsWith('/projects/shop/'), paths[1]?.startsWith('/home/ann/')]).toEqual([
        true,
        true,
      ])
  })

  test('a running server is named by its address and the variable of its token, never by the token itself', () => {
    const server = {
      kind: 'http',
      url: 'https://skills.example.com/mcp',
      tokenVariable: 'SKILLS_TOKEN',
    } as const
    if (id === 'claude-desktop') {
      expect(() => client.toEntry(server)).toThrow('Settings > Connectors')
      return
    }
    const entry = client.toEntry(server)
    expect(JSON.stringify(entry)).toContain('https://skills.example.com/mcp')
    expect(JSON.stringify(entry)).toMatch(/SKILLS_TOKEN/)
  })
})

describe('editConfig() of JSON with comments', () => {
  const client = MCP_CLIENTS.vscode

  test('comments, tabs, other servers and trailing commas stay', () => {
    using folder = new TemporaryFolder()
    const before = '{\n\t// my servers\n\t"servers": {\n\t\t"other": { "url": "x" }, // keep\n\t},\n}\n'
    const path = folder.write('mcp.json', before)
    const { after } = editConfig(client, path, NAME, client.toEntry(SERVER))
    expect(after).toContain('// my servers')
    expect(after).toContain('"url": "x"')
    expect(after).toContain('// keep')
    expect(after).toContain('\n\t\t"skillstoke": {')
  })

  test('Windows line ends stay', () => {
    using folder = new TemporaryFolder()
    const path = folder.write('mcp.json', '{\r\n  "servers": {}\r\n}\r\n')
    const { after } = editConfig(client, path, NAME, client.toEntry(SERVER))
    expect(after.replaceAll('\r\n', '')).not.toContain('\n')
  })

  test('an empty file becomes an object', () => {
    using folder = new TemporaryFolder()
    const path = folder.write('mcp.json', '')
    expect(JSON.parse(editConfig(client, path, NAME, { url: 'x' }).after)).toEqual({
      servers: { skillstoke: { url: 'x' } },
    })
  })

  test.each(['{"servers": 5}', '[]', '"text"'])('%s is refused', content => {
    using folder = new TemporaryFolder()
    const path = folder.write('mcp.json', content)
    expect(() => editConfig(client, path, NAME, { url: 'x' })).toThrow(path)
  })
})

describe('editConfig() of TOML', () => {
  const client = MCP_CLIENTS.codex

  test('only the tables of the server are replaced, and comments of other tables stay', () => {
    using folder = new TemporaryFolder()
    const path = folder.write(
      'config.toml',
      'model = "o3"\n\n[mcp_servers."skillstoke"]\ncommand = "old"\n[mcp_servers.skillstoke.env]\nA = "1"\n\n# about others\n[mcp_servers.skillstoke-2]\ncommand = "x"\n',
    )
    const { after } = editConfig(client, path, NAME, { command: 'new', args: [] })
    expect(after).toContain('# about others\n[mcp_servers.skillstoke-2]\ncommand = "x"')
    expect(findEntry(client, path, NAME, after)).toEqual({ command: 'new', args: [], env: { A: '1' } })
  })

  test('servers in an inline table are left alone, with the entry to add by hand', () => {
    using folder = new TemporaryFolder()
    const path = folder.write('config.toml', 'mcp_servers = { other = { command = "x" } }\n')
    expect(() => editConfig(client, path, NAME, { command: 'new' })).toThrow(
      'add this by hand:\n[mcp_servers.skillstoke]',
    )
  })
})

test.each([
  [
    'win32',
    ['Claude/claude_desktop_config.json', 'Zed/settings.json', 'Block/goose/config/config.yaml'],
    '/roaming',
  ],
  [
    'darwin',
    ['Library/Application Support/Claude/claude_desktop_config.json', '.config/zed/settings.json'],
    '/home/ann',
  ],
] as const)(
  'on %s, the files of the user are where the programs keep their settings',
  (platform, files, root) => {
    const places: ClientPlaces = {
      home: '/home/ann',
      project: '/projects/shop',
      platform,
      environment: { APPDATA: '/roaming' },
    }
    const clients = [MCP_CLIENTS['claude-desktop'], MCP_CLIENTS.zed, MCP_CLIENTS.goose].slice(0, files.length)
    expect(clients.map(client => client.pathOf('user', places))).toEqual(files.map(file => `${root}/${file}`))
  },
)

describe('editConfig() of YAML', () => {
  const client = MCP_CLIENTS.goose

  test('comments, quotes, Windows line ends and the other extensions stay', () => {
    using folder = new TemporaryFolder()
    const before =
      '# mine\r\nGOOSE_MODE: "auto" # keep\r\nextensions:\r\n  other:\r\n    cmd: x\r\n    args:\r\n    - -y\r\n'
    const path = folder.write('config.yaml', before)
    const { after } = editConfig(client, path, NAME, client.toEntry(SERVER, NAME))
    expect(after.startsWith(before)).toBe(true)
    expect(after.replaceAll('\r\n', '')).not.toContain('\n')
    expect(findEntry(client, path, NAME, after)).toMatchObject({
      type: 'stdio',
      name: NAME,
      cmd: '/usr/bin/node',
    })
  })

  test.each(['- a list\n', 'extensions: [\n'])('%j is refused', content => {
    using folder = new TemporaryFolder()
    const path = folder.write('config.yaml', content)
    expect(() => editConfig(client, path, NAME, { cmd: 'x' })).toThrow('not valid YAML')
  })

  test('extensions that are no mapping are left alone, with the entry to add by hand', () => {
    using folder = new TemporaryFolder()
    const path = folder.write('config.yaml', 'extensions: 5\n')
    expect(() => editConfig(client, path, NAME, { cmd: 'new' })).toThrow('add this by hand:\nextensions:')
  })
})

test('writeEdit() follows a link and keeps the mode of the file', () => {
  using folder = new TemporaryFolder()
  const target = folder.write('dotfiles/mcp.json', '{}\n')
  chmodSync(target, 0o640)
  const path = folder.at('mcp.json')
  symlinkSync(target, path)
  const client = MCP_CLIENTS.cursor
  writeEdit(editConfig(client, path, NAME, { url: 'x' }))
  expect(readFileSync(target, 'utf8')).toContain('skillstoke')
  expect(statSync(target).mode & 0o777).toBe(0o640)
  expect(readdirSync(folder.at('dotfiles'))).toEqual(['mcp.json'])
})
