import { type Command, InvalidArgumentError, Option } from 'commander'
import { DEFAULT_HOST, DEFAULT_MAX_SESSIONS, DEFAULT_PORT, DEFAULT_SERVER_NAME } from '../config/defaults.ts'
import {
  CONFIG_SCOPES,
  type ConfigScope,
  MCP_CLIENT_IDS,
  type McpClientId,
} from '../mcp-clients/client-ids.ts'
import type { ToolChoice } from '../mcp-clients/mcp-setup.ts'
import {
  collect,
  type Finish,
  parseCount,
  parseHost,
  parsePort,
  resolveConfig,
  type SharedFlags,
  withSandboxOption,
  withScopeOptions,
  withSharedOptions,
  withSourceOptions,
} from './verb-options.ts'

/** Adds `mcp` and `serve`, which serve MCP clients, and `token`, which makes their tokens. */
export function addMcpVerbs(program: Command, finish: Finish): void {
  addMcp(program, finish)
  addServe(program, finish)
  addToken(program, finish)
}

interface ToolFlags {
  readonly verbose?: boolean
  readonly commandTools?: boolean
  readonly adminTools?: boolean
  readonly authorTools?: boolean
  readonly pageSize?: number
}

/** Adds the options that choose the tools of an MCP server. */
function withToolOptions(command: Command): Command {
  return command
    .option('--verbose', 'write log messages to standard error')
    .option(
      '--command-tools',
      'offer each command of a skill as a tool "skill.command"; the tool list changes with the skills',
    )
    .option(
      '--admin-tools',
      'offer the tools skill.reload and skill.unload, which reload and unload skill code',
    )
    .option(
      '--author-tools',
      'offer tools that write skills; what a client writes waits for approval outside of its own connection',
    )
    .option(
      '--page-size <count>',
      'maximum number of entries in one page of a list (default: 1000)',
      parseCount,
    )
}

function toToolOptions({ verbose, commandTools, adminTools, authorTools, pageSize }: ToolFlags): ToolChoice {
  return {
    ...(pageSize === undefined ? {} : { pageSize }),
    isVerbose: verbose === true,
    commandTools: commandTools === true,
    adminTools: adminTools === true,
    authorTools: authorTools === true,
  }
}

interface ClientFlags extends SharedFlags {
  readonly name: string
  readonly scope?: ConfigScope
  readonly url?: string
  readonly tokenEnv?: string
  readonly dryRun?: boolean
}

/** Adds the options that say which entry a client gets. */
function withClientOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the server in the configuration of the client', DEFAULT_SERVER_NAME)
    .option('--url <url>', 'address of a running server, instead of a command that the client starts')
    .option('--token-env <variable>', 'environment variable of the client with the bearer token for --url')
}

function toClientOptions({ name, scope, url, tokenEnv, json, ...flags }: ClientFlags & ToolFlags): {
  name: string
  tools: ToolChoice
  scope?: ConfigScope
  url?: string
  tokenVariable?: string
  json: boolean
} {
  return {
    name,
    tools: toToolOptions(flags),
    json: json === true,
    ...(scope === undefined ? {} : { scope }),
    ...(url === undefined ? {} : { url }),
    ...(tokenEnv === undefined ? {} : { tokenVariable: tokenEnv }),
  }
}

function parseClient(value: string): McpClientId {
  const known = MCP_CLIENT_IDS.find(id => id === value)
  if (known !== undefined) return known
  throw new InvalidArgumentError(`${JSON.stringify(value)} is not one of ${MCP_CLIENT_IDS.join(', ')}`)
}

function addClientVerbs(mcp: Command, finish: Finish): void {
  const clients = MCP_CLIENT_IDS.join(', ')
  const withScope = (command: Command): Command =>
    command.addOption(
      new Option('--scope <scope>', 'file of this project, or of the user').choices(CONFIG_SCOPES),
    )
  withScope(withClientOptions(withSharedOptions(withScopeOptions(mcp.command('install')))))
    .description('add the server to the configuration file of an MCP client')
    .argument('<client>', clients, parseClient)
    .option('--dry-run', 'show the file and the entry, and change nothing')
    .addHelpText(
      'after',
      `
Keeps comments and all other entries. Keeps a copy of the file until the written file was read back. The default for
--scope is the project if all roots are in this folder, otherwise the user.

Examples:
  stoke mcp install claude-code
  stoke mcp install codex --root ~/skills --dry-run
  stoke mcp --sandbox require --command-tools install gemini --root ~/skills
  stoke mcp install cursor --url http://127.0.0.1:4114/mcp --token-env SKILLS_TOKEN`,
    )
    .action(async (client: McpClientId, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ClientFlags & ToolFlags>()
      const { installClient } = await import('../commands/mcp-clients.ts')
      const options = { ...toClientOptions(flags), isDryRun: flags.dryRun === true }
      finish(installClient(client, await resolveConfig(flags), options))
    })
  withScope(withClientOptions(withSharedOptions(mcp.command('uninstall'))))
    .description('remove the server from the configuration files of an MCP client')
    .argument('<client>', clients, parseClient)
    .option('--dry-run', 'show what would be removed, and change nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke mcp uninstall claude-code\n  stoke mcp uninstall codex --scope user',
    )
    .action(async (client: McpClientId, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ClientFlags>()
      const { uninstallClient } = await import('../commands/mcp-clients.ts')
      const options = { ...toClientOptions(flags), isDryRun: flags.dryRun === true }
      finish(uninstallClient(client, options))
    })
}

interface McpFlags extends ToolFlags, ClientFlags {
  readonly check?: McpClientId | true
  readonly printConfig?: McpClientId
}

function addMcp(program: Command, finish: Finish): void {
  const mcp = program.command('mcp')
  addClientVerbs(mcp, finish)
  withToolOptions(withClientOptions(withSandboxOption(withScopeOptions(withSharedOptions(mcp)))))
    .description('serve the skills to an MCP client over standard input and output')
    .option(
      '--check [client]',
      `start the server as a client does, and say what works: ${MCP_CLIENT_IDS.join(', ')}`,
      parseClient,
    )
    .option('--print-config <client>', 'print the entry for the configuration file of a client', parseClient)
    .addHelpText(
      'after',
      `
Serves only the sources that you name. For MCP over HTTP, use "stoke serve", or the endpoint /mcp of "stoke dev".

Without bubblewrap, a skill script can send signals. npx is a Node process, and SIGUSR1 opens its debugger. Start an
installed "skillstoke mcp" instead, or set NODE_OPTIONS=--disable-sigusr1 for npx.

Examples:
  stoke mcp --root ./skills
  stoke mcp --root ~/skills --include "support-*"
  stoke mcp --root ~/skills --command-tools --sandbox require
  stoke mcp install claude-code
  stoke mcp --check codex
  stoke mcp --print-config vscode --root ./skills`,
    )
    .action(async (flags: McpFlags) => {
      const config = await resolveConfig(flags)
      const { check, printConfig } = flags
      if (check === undefined && printConfig === undefined) {
        const { mcp: serveStdio } = await import('../commands/mcp.ts')
        return finish(await serveStdio(config, toToolOptions(flags)))
      }
      const { checkClient, printClientConfig } = await import('../commands/mcp-clients.ts')
      const options = toClientOptions(flags)
      finish(
        printConfig === undefined
          ? await checkClient(check === true ? undefined : check, config, options)
          : printClientConfig(printConfig, config, options),
      )
    })
}

interface ServeFlags extends SharedFlags, ToolFlags {
  readonly clients?: string
  readonly auditLog?: string
  readonly metricsPort?: number
  readonly requestsPerMinute?: number
  readonly stateless?: boolean
}

function addServe(program: Command, finish: Finish): void {
  withToolOptions(withSandboxOption(withScopeOptions(withSourceOptions(program.command('serve')))))
    .description('serve the skills over HTTP to MCP clients that identify themselves')
    .argument('[dir...]', 'folders that contain skills')
    .option(
      '--port <number>',
      `port to listen on, 0 for any free port (default: the last one, or ${DEFAULT_PORT} if it is free)`,
      parsePort,
    )
    .option('--host <address>', `address to listen on (default: ${DEFAULT_HOST})`, parseHost)
    .option(
      '--allow-host <name>',
      'host name that requests may use, for example behind a proxy; repeatable',
      collect,
    )
    .option('--clients <file>', 'file that names the clients, from "stoke token", or the OAuth server')
    .option('--new-token', 'replace the token that is used without --clients')
    .option(
      '--requests-per-minute <count>',
      'maximum number of requests of one client in a minute',
      parseCount,
    )
    .option(
      '--max-sessions <count>',
      `maximum number of open MCP sessions (default: ${DEFAULT_MAX_SESSIONS})`,
      parseCount,
    )
    .option('--stateless', 'give clients of protocol 2025-11-25 no session; they then hear of no change')
    .option(
      '--audit-log <file>',
      'append one line of JSON for each request that used a skill, or was refused because of its token or a limit; "-" for standard output',
    )
    .option('--metrics-port <number>', 'serve metrics for Prometheus on this port of 127.0.0.1', parsePort)
    .addHelpText(
      'after',
      `
Clients connect to /mcp. /healthz needs no token. To serve other machines, name the clients with --clients, and put a
reverse proxy with TLS in front of the server.

Examples:
  stoke serve ./skills
  stoke token help-desk --clients clients.json --include "support-*"
  stoke serve ./skills --clients clients.json --host 0.0.0.0 --allow-host skills.example.com
  stoke serve --root ~/skills --clients clients.json --audit-log audit.jsonl --metrics-port 9464`,
    )
    .action(async (directories: string[], flags: ServeFlags) => {
      const { serve } = await import('../commands/serve.ts')
      const config = await resolveConfig({ ...flags, root: [...directories, ...(flags.root ?? [])] })
      const { clients, auditLog, metricsPort, requestsPerMinute } = flags
      finish(
        await serve(config, {
          ...toToolOptions(flags),
          isStateless: flags.stateless === true,
          ...(clients === undefined ? {} : { clients }),
          ...(auditLog === undefined ? {} : { auditLog }),
          ...(metricsPort === undefined ? {} : { metricsPort }),
          ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
        }),
      )
    })
}

interface TokenFlags {
  readonly clients?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly expires?: string
  readonly replace?: boolean
  readonly json?: boolean
}

function addToken(program: Command, finish: Finish): void {
  withScopeOptions(program.command('token'))
    .description('make a token for a client of "stoke serve", and print it once')
    .argument('<name>', 'name of the client in the audit log')
    .option('--clients <file>', 'file to add the client to (default: print the entry)')
    .option('--expires <date>', 'day or time when the token ends, for example 2027-01-31 (default: never)')
    .option('--replace', 'replace the token of a client that the file already has')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The file contains only a hash of the token. A running "stoke serve" reads the file again after each change. With
--replace, the client keeps its skills and the end of its token, unless you give new ones.

Examples:
  stoke token help-desk --clients clients.json --include "support-*"
  stoke token ci --clients clients.json --expires 2027-01-31
  stoke token help-desk --clients clients.json --replace`,
    )
    .action(async (name: string, flags: TokenFlags) => {
      const { token } = await import('../commands/token.ts')
      const { clients, include, exclude, expires } = flags
      finish(
        token(name, {
          isReplacing: flags.replace === true,
          json: flags.json === true,
          ...(clients === undefined ? {} : { file: clients }),
          ...(include === undefined ? {} : { include }),
          ...(exclude === undefined ? {} : { exclude }),
          ...(expires === undefined ? {} : { expires }),
        }),
      )
    })
}
