import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { relative } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import { type Config, pathsOf } from '../config/config.ts'
import { DEFAULT_SERVER_NAME } from '../config/defaults.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { leadsOut } from '../config/real-path.ts'
import type { ClientFact } from '../doctor/examine-setup.ts'
import { CHECKED_VERSIONS, checkServer, type ServerCheck } from '../mcp-clients/check-server.ts'
import { editConfig, findEntry, renderEntry, writeEdit } from '../mcp-clients/client-config.ts'
import { CONFIG_SCOPES, type ConfigScope, type McpClientId } from '../mcp-clients/client-ids.ts'
import {
  ANY_CLIENT,
  type ClientPlaces,
  MCP_CLIENTS,
  type McpClient,
  type ServerEntry,
} from '../mcp-clients/client-table.ts'
import { type ToolFlags, toMcpCommand } from '../mcp-clients/mcp-setup.ts'
import type { Answer } from '../terminal/answer.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { nearPath, paint, printLine, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

export interface ClientFlags extends ToolFlags {
  /** Name of the server in the configuration of the client. */
  readonly name: string
  /** @default 'project' if the client has project files and all sources are in this folder, otherwise 'user' */
  readonly scope?: ConfigScope
  /** Address of a running server. @default the client starts "stoke mcp" */
  readonly url?: string
  /** Environment variable of the client that contains the bearer token for `url`. */
  readonly tokenEnv?: string
  readonly json?: boolean
}

export interface InstallFlags extends ClientFlags {
  readonly dryRun?: boolean
}

/** Implements `stoke mcp install`: adds the server to the configuration file of a client. */
export function installClient(config: Config, options: InstallFlags, id: McpClientId): Answer {
  const { dryRun: isDryRun = false, name } = options
  const client = MCP_CLIENTS[id]
  checkName(name)
  if (options.url === undefined) checkNamedRoots(config)
  const { path, scope } = findFile(client, config, options)
  const entry = client.toEntry(toServer(config, options), name)
  const edit = editConfig(client, path, name, entry)
  const { isChanged } = edit
  if (isChanged && !isDryRun) writeEdit(edit)
  const flags = flagsOf(options)
  const done = !isChanged
    ? `${nearPath(path)} already has this entry`
    : isDryRun
      ? `would write to ${nearPath(path)}:\n\n${renderEntry(client, name, entry)}`
      : `${edit.isReplaced ? 'replaced' : 'added'} "${name}" in ${nearPath(path)}`
  return {
    json: { client: id, path, scope, isChanged, isDryRun, entry },
    text: () => [
      done,
      `next    ${client.afterInstall}`,
      `invoke  ${client.promptForm.replaceAll(DEFAULT_SERVER_NAME, name)}`,
      nameProgram(`check   ${toCommandLine(['stoke', 'mcp', '--check', id, ...flags])}`),
      nameProgram(`undo    ${toCommandLine(['stoke', 'mcp', 'uninstall', id, '--scope', scope, ...flags])}`),
    ],
  }
}

/** Implements `stoke mcp uninstall`: removes the server from the configuration file of a client. */
export function uninstallClient(
  { dryRun: isDryRun = false, scope, name }: InstallFlags,
  id: McpClientId,
): Answer {
  const client = MCP_CLIENTS[id]
  const scopes = scope === undefined ? CONFIG_SCOPES : [scope]
  const files = listFiles(client, scopes).map(({ path }) => path)
  const edits = files
    .map(path => editConfig(client, path, name, undefined))
    .filter(({ isChanged }) => isChanged)
  if (!isDryRun) for (const edit of edits) writeEdit(edit)
  const removed = edits.map(({ path }) => ({ path }))
  return {
    json: { client: id, isDryRun, removed },
    text: () =>
      removed.length === 0
        ? [`${client.title} has no server "${name}" in ${files.map(nearPath).join(' or ')}`]
        : removed.map(
            ({ path }) => `${isDryRun ? 'would remove' : 'removed'} "${name}" from ${nearPath(path)}`,
          ),
    exit: removed.length === 0 ? EXIT_FINDINGS : EXIT_OK,
  }
}

/**
 * Implements `stoke mcp --print-config`: prints the entry for a client, and where it belongs. Without a client, prints
 * the form that most clients read.
 */
export function printClientConfig(id: McpClientId | undefined, config: Config, options: ClientFlags): Answer {
  const client = id === undefined ? undefined : MCP_CLIENTS[id]
  const { name } = options
  checkName(name)
  const form = client ?? ANY_CLIENT
  const entry = form.toEntry(toServer(config, options), name)
  const text = renderEntry(form, name, entry)
  const paths = client === undefined ? [] : listFiles(client)
  return {
    json: { client: id, name, entry, text, paths },
    text: () => {
      // The entry alone goes to standard output, so that it can be redirected into a file.
      for (const { scope, path } of paths) process.stderr.write(`${scope}: ${nearPath(path)}\n`)
      return [text.trimEnd()]
    },
  }
}

/**
 * Implements `stoke mcp --check`: starts the server as a client does, with each protocol version, and says what works in
 * the client.
 */
export async function checkClient(
  id: McpClientId | undefined,
  config: Config,
  options: ClientFlags,
): Promise<Answer> {
  const client = id === undefined ? undefined : MCP_CLIENTS[id]
  const found = client === undefined ? undefined : findInstalled(client, options.name)
  if (found === undefined && options.url === undefined) checkNamedRoots(config)
  const server = found?.server ?? toServer(config, options)
  const checks: ServerCheck[] = []
  for (const version of CHECKED_VERSIONS) {
    const check = await checkServer(server, version, process.env)
    checks.push(check)
    // A check may take long, so a person sees each one at once.
    if (!options.json) printCheck(check)
  }
  const installed = client === undefined ? listInstalled(options.name) : found === undefined ? [] : [found]
  const isInstalled = client === undefined || found !== undefined || options.json === true
  const isFine = isInstalled && checks.every(({ ok }) => ok)
  return {
    json: {
      server,
      checks,
      installed: installed.map(each => ({ client: each.client.id, path: each.path })),
      ...(client === undefined ? {} : { features: client.features, checked: client.checked }),
    },
    text: function* () {
      for (const warning of new Set(checks.flatMap(({ warnings = [] }) => warnings)))
        yield `server says ${paint('yellow', toTerminalLine(warning))}`
      if (checks.some(({ ok, resources }) => ok && resources === 0))
        yield paint('yellow', 'the server has no skills; name a folder with skills')
      yield `server      ${describeServer(server)}`
      for (const each of installed) yield `configured  ${each.client.title}: ${nearPath(each.path)}`
      if (client === undefined) return
      if (found === undefined) {
        const words = ['stoke', 'mcp', 'install', client.id, ...flagsOf(options), ...config.options]
        yield nameProgram(
          `${client.title} has no server "${options.name}"; add it with: ${toCommandLine(words)}`,
        )
      }
      yield* describeClient(client, options)
    },
    exit: isFine ? EXIT_OK : EXIT_FINDINGS,
  }
}

function* describeClient(
  { title, checked, features, promptForm }: McpClient,
  { name }: ClientFlags,
): Generator<string> {
  yield `\n${title}, as known on ${checked}:`
  for (const { feature, works, note } of features)
    yield `  ${paint(WORKS_STYLE[works], works.padEnd(7))}  ${feature}${note === undefined ? '' : `: ${note}`}`
  yield `invoke a skill  ${promptForm.replaceAll(DEFAULT_SERVER_NAME, name)}`
}

/** Checks a name that goes into the file of a client. Clients build tool and prompt names with it. */
function checkName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
    throw new UsageError(
      `--name ${JSON.stringify(name)} is no name that all clients accept; use 1 to 64 letters, digits, "-" and "_", and begin with a letter or digit`,
    )
}

/** Returns the flags that name the server again in another command. */
function flagsOf({ name }: ClientFlags): string[] {
  return name === DEFAULT_SERVER_NAME ? [] : ['--name', name]
}

interface Installed {
  readonly client: McpClient
  readonly path: string
  readonly server: ServerEntry
}

function placesOf(): ClientPlaces {
  const { platform, env: environment } = process
  // As usual, an empty variable counts as a missing one.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  return { home: given['HOME'] ?? homedir(), project: process.cwd(), platform, environment: given }
}

/** Lists the files of a client that exist or could exist. */
function listFiles(
  client: McpClient,
  scopes: readonly ConfigScope[] = CONFIG_SCOPES,
): readonly { readonly scope: ConfigScope; readonly path: string }[] {
  return scopes.flatMap(scope => {
    const path = client.pathOf(scope, placesOf())
    return path === undefined ? [] : { scope, path }
  })
}

function toServer(config: Config, { url, tokenEnv: tokenVariable, ...tools }: ClientFlags): ServerEntry {
  if (url !== undefined) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new UsageError(`${JSON.stringify(url)} is no address of an MCP server; use https://host/mcp`)
    return { kind: 'http', url, ...defined({ tokenVariable }) }
  }
  if (tokenVariable !== undefined) throw new UsageError('--token-env needs --url')
  const isAnyThere = config.roots.some(({ path }) => existsSync(path)) || config.remotes.length > 0
  if (!(config.areRootsChosen || isAnyThere))
    throw new UsageError(
      `there is no folder with skills here (${pathsOf(config).join(', ')}); add --root DIR`,
    )
  return { kind: 'stdio', ...toMcpCommand(config, tools) }
}

function findFile(
  client: McpClient,
  config: Config,
  { scope }: ClientFlags,
): { readonly path: string; readonly scope: ConfigScope } {
  const places = placesOf()
  const isOfProject = ({ path }: { readonly path: string }): boolean =>
    !leadsOut(relative(places.project, path))
  // Default roots are also in the home folder, so one root of the project is enough.
  const isInside = config.areRootsChosen
    ? config.roots.every(isOfProject)
    : config.roots.some(root => isOfProject(root) && existsSync(root.path))
  const hasProject = client.pathOf('project', places) !== undefined
  const chosen = scope ?? (isInside && hasProject ? 'project' : 'user')
  const path = client.pathOf(chosen, places)
  if (path === undefined)
    throw new UsageError(`${client.title} has no configuration file for one project; use --scope user`)
  return { path, scope: chosen }
}

/** Finds the server in the files of a client. The file of the project wins, as in most clients. */
function findInstalled(client: McpClient, name: string): Installed | undefined {
  for (const { path } of listFiles(client)) {
    const entry = findEntry(client, path, name)
    const server = entry === undefined ? undefined : toServerEntry(entry)
    if (server !== undefined) return { client, path, server }
  }
  return undefined
}

function listInstalled(name: string): Installed[] {
  return Object.values(MCP_CLIENTS).flatMap(client => {
    try {
      return findInstalled(client, name) ?? []
    } catch {
      return [] // a file of another client that is not valid does not matter here
    }
  })
}

/** Returns the clients that have a configuration file, and whether the file starts this program. */
export function listClients(): readonly ClientFact[] {
  const installed = listInstalled(DEFAULT_SERVER_NAME)
  return Object.values(MCP_CLIENTS).flatMap((client): readonly ClientFact[] => {
    const found = installed.find(each => each.client === client)
    const path = found?.path ?? listFiles(client).find(file => existsSync(file.path))?.path
    if (path === undefined) return []
    const { id, title } = client
    const { server } = found ?? {}
    const words = server?.kind === 'stdio' ? [server.command, ...server.args] : []
    const isStale = words.some(word => /[\\/]bin[\\/]stoke\.js$/.test(word) && !existsSync(word))
    return [{ id, title, path, state: isStale ? 'stale' : found ? 'connected' : 'not-connected' }]
  })
}

/** Reads the entry of any client. */
function toServerEntry(entry: Readonly<Record<string, unknown>>): ServerEntry | undefined {
  const { args } = entry
  const command = entry['command'] ?? entry['cmd']
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['uri']
  if (typeof url === 'string') {
    const headers = entry['headers'] as Record<string, unknown> | undefined
    const bearer = typeof headers?.['Authorization'] === 'string' ? headers['Authorization'] : ''
    const variable =
      entry['bearer_token_env_var'] ?? /^Bearer \$?\{(?:env:)?([A-Za-z_]\w*)\}$/.exec(bearer)?.[1]
    if (typeof variable === 'string') return { kind: 'http', url, tokenVariable: variable }
    return { kind: 'http', url, ...(bearer === '' ? {} : { authorization: bearer }) }
  }
  const words = Array.isArray(command) ? command : [command, ...(Array.isArray(args) ? args : [])]
  const [first, ...rest] = words.filter((word): word is string => typeof word === 'string')
  if (first === undefined) return undefined
  const env = (entry['env'] ?? entry['environment'] ?? entry['envs']) as
    | Readonly<Record<string, string>>
    | undefined
  return { kind: 'stdio', command: first, args: rest, ...defined({ env }) }
}

function describeServer(server: ServerEntry): string {
  return server.kind === 'http' ? server.url : toCommandLine([server.command, ...server.args])
}

function printCheck({ version, ok, connectMs, fault, ...counts }: ServerCheck): void {
  const mark = ok ? paint('green', 'ok    ') : paint('red', 'failed')
  const { tools, prompts, resources, skills } = counts
  const detail = ok
    ? `connected in ${connectMs} ms: ${tools} tools, ${prompts} prompts, ${resources} resources, ${skills ?? 'no'} skills of the Skills extension`
    : (fault ?? '').split('\n').map(toTerminalLine).join('\n            ')
  printLine(`${version}  ${mark}  ${detail}`)
}

const WORKS_STYLE = { yes: 'green', no: 'red', part: 'yellow', unknown: 'dim' } as const
