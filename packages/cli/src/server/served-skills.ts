import type { Logger, SkillRuntime } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { SkillMcpOptions } from '@skillstoke/mcp'
import type { Config } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import type { ToolFlags } from '../mcp-clients/mcp-setup.ts'
import { type OpenOptions, openSkills } from '../skills/open-skills.ts'
import { toTerminalLine } from '../terminal/output.ts'

/** Returns the options that `stoke mcp` and `stoke serve` give to an MCP server. */
export function toServerOptions(
  { scope }: Pick<Config, 'scope'>,
  {
    commandTools = false,
    adminTools = false,
    authorTools = false,
    confirmScripts = false,
    pageSize,
  }: ToolFlags,
): SkillMcpOptions {
  return {
    version: readVersion(),
    ...{ commandTools, adminTools, authorTools, confirmScripts },
    ...defined({ pageSize, scope }),
  }
}

/** Opens the skills that an MCP server serves until it is stopped. */
export async function openServedSkills(
  config: Config,
  logger: Logger,
  options: Pick<OpenOptions, 'hasDirectories'> = {},
): Promise<SkillRuntime> {
  return await openSkills(config, {
    usedBy: 'mcp',
    ...options,
    watching: 'auto',
    serves: true,
    runsScripts: true,
    runtime: { logger },
  })
}

export function describeServed(skills: SkillRuntime): string {
  const { number, digest } = skills.current
  const count = skills.current.list().length
  return `serving ${count} ${count === 1 ? 'skill' : 'skills'}, generation ${number} ${digest}`
}

/** Creates a logger that writes to standard error. */
export function createErrorLogger(isVerbose = false): Logger {
  const write = (level: string, message: string): void =>
    void process.stderr.write(`skillstoke ${level}: ${toTerminalLine(message)}\n`)
  return {
    debug: message => (isVerbose ? write('debug', message) : undefined),
    info: (message, data) => (isVerbose ? write('info', withData(message, data)) : undefined),
    warn: (message, data) => write('warning', withData(message, data)),
    error: (message, data) => write('error', withData(message, data)),
  }
}

/** `Hot reloading skill skill=git` */
function withData(message: string, data: Readonly<Record<string, unknown>> = {}): string {
  const fields = Object.entries(data).map(
    ([key, value]) => ` ${key}=${value instanceof Error ? value.message : String(value)}`,
  )
  return `${message}${fields.join('')}`
}
