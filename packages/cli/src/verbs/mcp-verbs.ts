import { type Command, InvalidArgumentError, Option } from 'commander'
import { DEFAULT_HOST, DEFAULT_MAX_SESSIONS, DEFAULT_PORT, DEFAULT_SERVER_NAME } from '../config/defaults.ts'
import { CONFIG_SCOPES, MCP_CLIENT_IDS, type McpClientId } from '../mcp-clients/client-ids.ts'
import { act, actAlone, withFolders } from './act.ts'
import {
  collect,
  parseCount,
  parseHost,
  parsePort,
  withSandboxOption,
  withScopeOptions,
  withSharedOptions,
  withSourceOptions,
} from './verb-options.ts'

/** Adds `mcp` and `serve`, which serve MCP clients, and `token`, which makes their tokens. */
export function addMcpVerbs(program: Command): void {
  addMcp(program)
  addServe(program)
  addToken(program)
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
      '--confirm-scripts',
      'run a script only after the person at the client agreed; a client that cannot ask runs none',
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

/** Adds the options that say which entry a client gets. */
function withClientOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the server in the configuration of the client', DEFAULT_SERVER_NAME)
    .option('--url <url>', 'address of a running server, instead of a command that the client starts')
    .option('--token-env <variable>', 'environment variable of the client with the bearer token for --url')
}

function parseClient(value: string): McpClientId {
  const known = MCP_CLIENT_IDS.find(id => id === value)
  if (known !== undefined) return known
  throw new InvalidArgumentError(`${JSON.stringify(value)} is not one of ${MCP_CLIENT_IDS.join(', ')}`)
}

function addClientVerbs(mcp: Command): void {
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
    .action(withGlobals(act(async () => (await import('../commands/mcp-clients.ts')).installClient)))
  withScope(withClientOptions(withSharedOptions(mcp.command('uninstall'))))
    .description('remove the server from the configuration files of an MCP client')
    .argument('<client>', clients, parseClient)
    .option('--dry-run', 'show what would be removed, and change nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke mcp uninstall claude-code\n  stoke mcp uninstall codex --scope user',
    )
    .action(withGlobals(actAlone(async () => (await import('../commands/mcp-clients.ts')).uninstallClient)))
}

/** Gives a verb of `mcp` the options of `mcp`, too. */
function withGlobals(action: ReturnType<typeof act>): ReturnType<typeof act> {
  return async (...given) => {
    const command = given.at(-1) as Command
    await action(...given.slice(0, -2), command.optsWithGlobals(), command)
  }
}

function addMcp(program: Command): void {
  const mcp = program.command('mcp')
  addClientVerbs(mcp)
  withToolOptions(withClientOptions(withSandboxOption(withScopeOptions(withSharedOptions(mcp)))))
    .description('serve the skills to an MCP client over standard input and output')
    .option(
      '--check [client]',
      `start the server as a client does, and say what works: ${MCP_CLIENT_IDS.join(', ')}`,
      parseClient,
    )
    .option(
      '--print-config [client]',
      'print the entry for the configuration file of a client; without a client, the JSON that most clients read',
      parseClient,
    )
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
    .action(act(async () => (await import('../commands/mcp.ts')).mcp))
}

function addServe(program: Command): void {
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
    .action(act(async () => (await import('../commands/serve.ts')).serve, withFolders))
}

function addToken(program: Command): void {
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
    .action(actAlone(async () => (await import('../commands/token.ts')).token))
}
