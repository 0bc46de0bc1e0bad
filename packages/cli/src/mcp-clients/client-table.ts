import { join } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import { DEFAULT_SERVER_NAME } from '../config/defaults.ts'
import { UsageError } from '../terminal/exit-code.ts'
import type { ConfigScope, McpClientId } from './client-ids.ts'

/** How a client reaches the server. */
export type ServerEntry =
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      /** Variables that an installed entry sets. */
      readonly env?: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'http'
      readonly url: string
      /** The environment variable of the client that contains the bearer token. */
      readonly tokenVariable?: string
      /** The header `Authorization` that an installed entry contains. */
      readonly authorization?: string
    }

/** The folders and variables that decide where configuration files are. */
export interface ClientPlaces {
  readonly home: string
  readonly project: string
  readonly platform: NodeJS.Platform
  readonly environment: NodeJS.ProcessEnv
}

/** One statement about what works in a client. */
export interface ClientFeature {
  readonly feature: string
  /** `part` means that it works with the limit that the note names. `unknown` means that no source says it. */
  readonly works: 'yes' | 'no' | 'part' | 'unknown'
  readonly note?: string
}

/** What is known about one client: its configuration, and what works in it. */
export interface McpClient {
  readonly id: McpClientId
  readonly title: string
  /** The day on which the sources of this row were read, and what they describe. */
  readonly checked: string
  /** Returns the path of the configuration file; `undefined` if the client has none in this scope. */
  readonly pathOf: (scope: ConfigScope, places: ClientPlaces) => string | undefined
  readonly format: 'json' | 'jsonc' | 'toml' | 'yaml'
  /** Path of the object that contains the servers, from the root of the file. */
  readonly keys: readonly string[]
  /**
   * Returns the entry of a server in the form of the client.
   * @param name name of the server, for a client whose entries repeat it
   * @throws {UsageError} when the client reaches no server in this way
   */
  readonly toEntry: (server: ServerEntry, name?: string) => Readonly<Record<string, unknown>>
  /** What a person does after the file has changed. */
  readonly afterInstall: string
  /** How a person invokes a skill as a prompt. */
  readonly promptForm: string
  readonly features: readonly ClientFeature[]
}

const CHECKED = '2026-11-25'

type Bearer = (variable: string) => string

/** Returns the entry in the form that most clients share. */
function toCommonEntry(server: ServerEntry, bearer: Bearer, withTypes: boolean): Record<string, unknown> {
  const type = withTypes ? server.kind : undefined
  if (server.kind === 'stdio') return defined({ type, command: server.command, args: server.args })
  return defined({ type, url: server.url, headers: toHeaders(server.tokenVariable, bearer) })
}

function toHeaders(variable: string | undefined, bearer: Bearer): Record<string, string> | undefined {
  return variable === undefined ? undefined : { Authorization: `Bearer ${bearer(variable)}` }
}

const toFeature =
  (works: ClientFeature['works']) =>
  (feature: string, note?: string): ClientFeature => ({ feature, works, ...defined({ note }) })
const yes = toFeature('yes')
const no = toFeature('no')
const part = toFeature('part')
const unknown = toFeature('unknown')
const UNDOCUMENTED = [
  'server instructions',
  'changes of lists',
  'tool answers',
  'protocol 2026-07-28',
  'Skills extension',
].map(feature => unknown(feature))

/** Finds the file of the user, by default in the home folder, and the file of a project. */
function pathsOf(user: string | ((places: ClientPlaces) => string), project?: string): McpClient['pathOf'] {
  return (scope, places) => {
    if (scope === 'project') return project === undefined ? undefined : join(places.project, project)
    return typeof user === 'string' ? join(places.home, user) : user(places)
  }
}

/** The folder in which programs keep their settings on this system. */
function settingsFolder(places: ClientPlaces): string {
  const { home, platform, environment } = places
  if (platform === 'win32') return environment['APPDATA'] ?? join(home, 'AppData', 'Roaming')
  return platform === 'darwin' ? join(home, 'Library', 'Application Support') : xdgFolder(places)
}

function xdgFolder({ home, environment }: ClientPlaces): string {
  return environment['XDG_CONFIG_HOME'] ?? join(home, '.config')
}

/** The form that most clients read, for a client that has no row in the table. */
export const ANY_CLIENT: Pick<McpClient, 'format' | 'keys' | 'toEntry'> = {
  format: 'json',
  keys: ['mcpServers'],
  toEntry: server => toCommonEntry(server, variable => `\${${variable}}`, true),
}

/** The facts of this table come from the documentation, the code and the issues of the clients, as `checked` says. */
export const MCP_CLIENTS: Readonly<Record<McpClientId, McpClient>> = {
  'claude-code': {
    id: 'claude-code',
    title: 'Claude Code',
    checked: `${CHECKED}, changelog to 2.1.240 and reports to 2.1.303`,
    pathOf: pathsOf('.claude.json', '.mcp.json'),
    format: 'json',
    keys: ['mcpServers'],
    toEntry: server => toCommonEntry(server, variable => `\${${variable}}`, true),
    afterInstall:
      'Start a new session, or choose the server in /mcp and reconnect. A project file asks for approval once.',
    promptForm: '/mcp__skillstoke__refund 1042',
    features: [
      yes('tools'),
      yes('prompts', 'arguments by position, separated by spaces'),
      yes('resources', 'as @skillstoke:skill://...'),
      part('server instructions', 'cut after 2 KB'),
      yes('changes of lists', 'tools, prompts and resources are listed again at once'),
      part('tool answers', 'structured content replaces the text; at most 25,000 tokens'),
      part('protocol 2026-07-28', 'being rolled out; falls back to 2025-11-25'),
      no('Skills extension'),
    ],
  },
  'claude-desktop': {
    id: 'claude-desktop',
    title: 'Claude Desktop',
    checked: '2026-11-26, documentation of MCP; features and the folder on Linux second-hand',
    pathOf: pathsOf(places => join(settingsFolder(places), 'Claude', 'claude_desktop_config.json')),
    format: 'json',
    keys: ['mcpServers'],
    toEntry: server => {
      if (server.kind === 'stdio') return toCommonEntry(server, String, false)
      throw new UsageError(
        'the file of Claude Desktop contains only commands; add an address under Settings > Connectors, or leave out --url',
      )
    },
    afterInstall: 'Quit Claude Desktop completely, and start it again.',
    promptForm: 'a menu of the message field',
    features: [yes('tools'), yes('prompts'), yes('resources', 'attached by the person'), ...UNDOCUMENTED],
  },
  codex: {
    id: 'codex',
    title: 'Codex',
    checked: `${CHECKED}, reports to 0.159.3`,
    pathOf: pathsOf(
      ({ home, environment }) => join(environment['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
      '.codex/config.toml',
    ),
    format: 'toml',
    keys: ['mcp_servers'],
    toEntry: server =>
      server.kind === 'stdio'
        ? { command: server.command, args: server.args }
        : defined({ url: server.url, bearer_token_env_var: server.tokenVariable }),
    afterInstall: 'Start a new session. Codex reads a project file only in a trusted project.',
    promptForm: 'no prompts; ask for the skill by its name',
    features: [
      yes('tools', 'names of server and tool together at most 64 bytes'),
      no('prompts'),
      part('resources', 'through tools of the model'),
      yes('server instructions', 'the first 512 characters count most'),
      no('changes of lists', 'only logged; a new session lists again'),
      part('tool answers', 'structured content replaces the text'),
      part('protocol 2026-07-28', 'opt-in since 0.147.0'),
      no('Skills extension'),
    ],
  },
  cursor: {
    id: 'cursor',
    title: 'Cursor',
    checked: `${CHECKED}, documentation only`,
    pathOf: pathsOf('.cursor/mcp.json', '.cursor/mcp.json'),
    format: 'jsonc',
    keys: ['mcpServers'],
    toEntry: server => toCommonEntry(server, variable => `\${env:${variable}}`, false),
    afterInstall: 'Switch the server on in Settings > MCP.',
    promptForm: 'listed with the slash commands',
    features: [
      yes('tools'),
      yes('prompts'),
      yes('resources'),
      unknown('server instructions'),
      unknown('changes of lists'),
      unknown('tool answers'),
      unknown('protocol 2026-07-28'),
      no('Skills extension'),
    ],
  },
  vscode: {
    id: 'vscode',
    title: 'VS Code',
    checked: `${CHECKED}, documentation of June 2026 and code`,
    pathOf: pathsOf(places => join(settingsFolder(places), 'Code', 'User', 'mcp.json'), '.vscode/mcp.json'),
    format: 'jsonc',
    keys: ['servers'],
    toEntry: server => toCommonEntry(server, variable => `\${env:${variable}}`, true),
    afterInstall: 'Run "MCP: List Servers", start the server, and confirm that you trust it.',
    promptForm: '/skillstoke.refund, with a dialog for the arguments',
    features: [
      yes('tools', 'cached; "MCP: Reset Cached Tools" lists them again'),
      yes('prompts', 'with completion of arguments'),
      yes('resources', 'with templates and subscriptions'),
      yes('server instructions'),
      yes('changes of lists'),
      part('tool answers', 'structured content replaces the text'),
      unknown('protocol 2026-07-28'),
      no('Skills extension', 'only a prototype'),
    ],
  },
  gemini: {
    id: 'gemini',
    title: 'Gemini CLI',
    checked: `${CHECKED}, code of 2026-08-21`,
    pathOf: pathsOf('.gemini/settings.json', '.gemini/settings.json'),
    format: 'jsonc',
    keys: ['mcpServers'],
    toEntry: server =>
      server.kind === 'stdio'
        ? toCommonEntry(server, String, false)
        : toCommonEntry(server, variable => `$${variable}`, true),
    afterInstall: 'Start a new session, or run "/mcp reload". The folder must be trusted.',
    promptForm: '/refund --order="1042"',
    features: [
      yes('tools', 'names over 63 characters are shortened'),
      part('prompts', 'the text arrives as a JSON string'),
      yes('resources', 'as @skillstoke://...'),
      yes('server instructions', 'in a trusted folder'),
      yes('changes of lists', 'a new prompt may need "/mcp reload"'),
      part('tool answers', 'at most 40,000 characters; structured content is ignored'),
      no('protocol 2026-07-28'),
      no('Skills extension'),
    ],
  },
  opencode: {
    id: 'opencode',
    title: 'opencode',
    checked: `${CHECKED}, documentation of V2`,
    pathOf: pathsOf('.config/opencode/opencode.json', 'opencode.json'),
    format: 'jsonc',
    keys: ['mcp', 'servers'],
    toEntry: server =>
      server.kind === 'stdio'
        ? { type: 'local', command: [server.command, ...server.args] }
        : defined({
            type: 'remote',
            url: server.url,
            headers: toHeaders(server.tokenVariable, variable => `{env:${variable}}`),
          }),
    afterInstall: 'Start opencode again. The file has the form of V2; V1 has no "servers" in "mcp".',
    promptForm: '/skillstoke:refund',
    features: [
      yes('tools'),
      yes('prompts', 'V1 does not list prompts that were added later'),
      yes('resources'),
      yes('server instructions', 'V2'),
      yes('changes of lists', 'V1 only of tools'),
      part('tool answers', 'V1 replaces the text by structured content'),
      no('protocol 2026-07-28'),
      no('Skills extension'),
    ],
  },
  windsurf: {
    id: 'windsurf',
    title: 'Windsurf',
    checked: '2026-11-26, documentation as quoted by others',
    pathOf: pathsOf('.codeium/windsurf/mcp_config.json'),
    format: 'json',
    keys: ['mcpServers'],
    toEntry: server => {
      const { url, ...rest } = toCommonEntry(server, variable => `\${env:${variable}}`, false)
      return defined({ serverUrl: url, ...rest })
    },
    afterInstall:
      'Press the refresh button of the MCP servers in Cascade. The agent Devin Local does not read this file.',
    promptForm: 'ask for the skill by its name',
    features: [
      yes('tools', 'at most 100 of all servers together'),
      yes('prompts'),
      yes('resources'),
      ...UNDOCUMENTED,
    ],
  },
  zed: {
    id: 'zed',
    title: 'Zed',
    checked: '2026-11-26, documentation and code',
    pathOf: pathsOf(
      places =>
        places.platform === 'win32'
          ? join(settingsFolder(places), 'Zed', 'settings.json')
          : join(xdgFolder(places), 'zed', 'settings.json'),
      '.zed/settings.json',
    ),
    format: 'jsonc',
    keys: ['context_servers'],
    toEntry: server => toCommonEntry(server, variable => `\${${variable}}`, false),
    afterInstall:
      'Trust the folder if Zed asks. Put a token itself into the file, because Zed documents no variables.',
    promptForm: '/refund 1042',
    features: [
      yes('tools'),
      yes('prompts'),
      no('resources'),
      unknown('server instructions'),
      part('changes of lists', 'only tools are documented'),
      unknown('tool answers'),
      unknown('protocol 2026-07-28'),
      unknown('Skills extension'),
    ],
  },
  goose: {
    id: 'goose',
    title: 'Goose',
    checked: '2026-11-26, documentation and code of the configuration',
    pathOf: pathsOf(places =>
      places.platform === 'win32'
        ? join(settingsFolder(places), 'Block', 'goose', 'config', 'config.yaml')
        : join(xdgFolder(places), 'goose', 'config.yaml'),
    ),
    format: 'yaml',
    keys: ['extensions'],
    toEntry: (server, name = DEFAULT_SERVER_NAME) => {
      const shared = { name, enabled: true, timeout: 300 }
      if (server.kind === 'stdio') return { type: 'stdio', ...shared, cmd: server.command, args: server.args }
      const { url: uri, tokenVariable } = server
      const headers = toHeaders(tokenVariable, variable => `\${${variable}}`)
      const keys = tokenVariable === undefined ? undefined : [tokenVariable]
      return defined({ type: 'streamable_http', ...shared, uri, headers, env_keys: keys })
    },
    afterInstall: 'Start a new session.',
    promptForm: 'ask for the skill by its name',
    features: [yes('tools'), unknown('prompts'), yes('resources'), ...UNDOCUMENTED],
  },
  inspector: {
    id: 'inspector',
    title: 'MCP Inspector',
    checked: `${CHECKED}, version 2.12.0`,
    pathOf: pathsOf(
      ({ home, environment }) => environment['MCP_CATALOG_PATH'] ?? join(home, '.mcp-inspector', 'mcp.json'),
    ),
    format: 'json',
    keys: ['mcpServers'],
    toEntry: server => ({
      ...toCommonEntry(server, variable => `\${${variable}}`, true),
      protocolEra: 'auto',
      autoRefreshOnListChanged: true,
    }),
    afterInstall:
      'Run "npx @modelcontextprotocol/inspector". Put a token itself into the file, because variables are not replaced.',
    promptForm: 'a form in the tab of the prompts',
    features: [
      yes('tools'),
      yes('prompts', 'with completion'),
      yes('resources', 'with templates and subscriptions'),
      yes('server instructions', 'shown to the person'),
      yes('changes of lists'),
      yes('tool answers', 'shows text and structured content'),
      yes('protocol 2026-07-28'),
      yes('Skills extension', 'skills/list and skills/get in the command line'),
    ],
  },
}
