import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, toOptions } from '../config/config.ts'
import { DEFAULT_SCRIPT_RUNNER_OPTIONS } from '../config/known-values.ts'

/** The command with which an MCP client starts `stoke mcp` for the same sources, from any working directory. */
export interface McpCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** Deno starts a program only with a subcommand and with permission flags. */
const DENO_WORDS: readonly string[] = process.versions['deno'] === undefined ? [] : ['run', '-A']

/** On Windows `npx` is a batch file. Programs can start a batch file only through `cmd`. */
export function toNpxCommand(
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): McpCommand {
  return platform === 'win32' ? { command: 'cmd', args: ['/c', 'npx', ...args] } : { command: 'npx', args }
}

/** The tools of a server beside those for skills, and whether it writes messages. */
export interface ToolFlags {
  readonly verbose?: boolean
  readonly commandTools?: boolean
  readonly adminTools?: boolean
  readonly authorTools?: boolean
  readonly confirmScripts?: boolean
  /** @default the default of the server */
  readonly pageSize?: number
}

export function toMcpCommand(config: Config, tools: ToolFlags): McpCommand {
  const bin = fileURLToPath(new URL('bin/stoke.js', import.meta.resolve('skillstoke/package.json')))
  const { access, scope, sandbox } = config
  const { commandTools, adminTools, authorTools, confirmScripts, pageSize, verbose } = tools
  const roots = config.areRootsOfFile ? [] : rootsOf(config)
  const options = [
    ...toOptions({ config: config.file, root: roots.map(root => resolve(root.path)) }),
    ...(config.areRootsOfFile ? [] : sourcesOf(config)),
    ...toOptions({
      gitBaseUrl: access.gitBaseUrl,
      privateHost: access.privateHosts,
      frozen: config.isFrozen,
      includeSecrets: config.reading.secretFiles === 'include',
      linkRoot: config.linkRoots.map(path => resolve(path)),
      ...{ include: scope?.include, exclude: scope?.exclude },
      sandbox: sandbox === DEFAULT_SCRIPT_RUNNER_OPTIONS.sandbox ? undefined : sandbox,
      ...{ commandTools, adminTools, authorTools, confirmScripts, pageSize, verbose },
      state: config.stateDirectory,
    }),
  ]
  // If this program is in the npx cache, clients start it through npx, because the cache may be cleared. A program
  // outside the npx cache is started directly, because a signal from a script could start the inspector of an npx
  // process.
  return /[\\/]_npx[\\/]/.test(bin)
    ? toNpxCommand(['-y', 'skillstoke', 'mcp', ...options])
    : { command: process.execPath, args: [...DENO_WORDS, bin, 'mcp', ...options] }
}

/** Names the sources. Only `--fleet` can name the trusted keys of a fleet, and it names one fleet. */
function sourcesOf({ remotes }: Config): readonly string[] {
  const fleet = remotes.find(({ source }) => source.fleet !== undefined && source.trustedKeys !== undefined)
  return remotes.flatMap(({ flag, source }) =>
    source === fleet?.source
      ? toOptions({ fleet: flag.replace(/^fleet\+/, ''), trustedKey: source.trustedKeys })
      : toOptions({ source: flag }),
  )
}

/** Returns the roots without the default roots that do not exist. If no root remains, returns all roots. */
function rootsOf({ roots, areRootsChosen }: Config): Config['roots'] {
  const present = areRootsChosen ? roots : roots.filter(({ path }) => existsSync(path))
  return present.length === 0 ? roots : present
}
