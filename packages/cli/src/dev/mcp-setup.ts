import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import { toCommandLine } from '../output.ts'

/** How an MCP client starts `stoke mcp` for the same roots, from whatever folder. */
interface McpCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** What to paste into known clients. Without shell features, so that it means the same in each. */
export function describeMcpSetup(config: Config): readonly string[] {
  const { command, args } = toMcpCommand(config)
  const words = toCommandLine([command, ...args])
  const server = JSON.stringify({ command, args })
  return [
    `Claude Code   claude mcp add skillstoke -- ${words}`,
    `Codex         codex mcp add skillstoke -- ${words}`,
    `VS Code       code --add-mcp ${toCommandLine([JSON.stringify({ name: 'skillstoke', command, args })])}`,
    `Cursor, Claude Desktop and others   {"mcpServers":{"skillstoke":${server}}}`,
  ]
}

/** On Windows `npx` is a batch file, which programs can only start through `cmd`. */
export function toNpxCommand(
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): McpCommand {
  return platform === 'win32' ? { command: 'cmd', args: ['/c', 'npx', ...args] } : { command: 'npx', args }
}

function toMcpCommand(config: Config): McpCommand {
  const bin = fileURLToPath(new URL('bin/stoke.js', import.meta.resolve('skillstoke/package.json')))
  const options = [
    ...(config.file === undefined ? [] : ['--config', config.file]),
    ...(config.areRootsOfFile ? [] : config.roots.flatMap(root => ['--root', resolve(root.path)])),
    ...(config.areRootsOfFile ? [] : config.remotes.flatMap(({ flag }) => ['--source', flag])),
    ...(config.access.gitBaseUrl === undefined ? [] : ['--git-base-url', config.access.gitBaseUrl]),
    ...config.access.privateHosts.flatMap(host => ['--private-host', host]),
    ...(config.isFrozen ? ['--frozen'] : []),
    ...config.linkRoots.flatMap(path => ['--link-root', resolve(path)]),
    ...(config.scope?.include ?? []).flatMap(pattern => ['--include', pattern]),
    ...(config.scope?.exclude ?? []).flatMap(pattern => ['--exclude', pattern]),
    ...['--state', config.stateDirectory],
  ]
  // The cache of npx is emptied now and then; every other place stays. Started without npx, there is no Node process around
  // ours that would open its inspector to a script's signal.
  return /[\\/]_npx[\\/]/.test(bin)
    ? toNpxCommand(['-y', 'skillstoke', 'mcp', ...options])
    : { command: process.execPath, args: [bin, 'mcp', ...options] }
}
