import type { Logger, SkillRuntime } from '@skillstoke/core'
import { createSkillsServer, type SkillMcpOptions } from '@skillstoke/mcp'
import type { Config } from '../config/config.ts'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { toTerminalLine } from '../output.ts'
import { listenForSignals } from '../signals.ts'
import { createCatalogCounter } from '../tokens.ts'
import { readVersion } from '../version.ts'

export interface McpOptions extends Pick<SkillMcpOptions, 'commandTools' | 'adminTools' | 'authorTools'> {
  readonly isVerbose: boolean
}

/** Implements `stoke mcp`: serves the skills over standard input and output until the client disconnects. */
export async function mcp(config: Config, options: McpOptions): Promise<number> {
  if (!config.areRootsChosen) {
    throw new UsageError(
      'stoke mcp serves only folders that you name; add --root DIR, or --config FILE with "roots" in it',
    )
  }
  keepOutputClean()
  const logger = createErrorLogger(options.isVerbose)
  const end = new AbortController()
  const stopSignals = listenForSignals(() => end.abort())
  const catalog = { countTokens: createCatalogCounter(config.catalog.maxTokens), ...config.catalog }
  await using skills = await openSkills(config, {
    watching: 'auto',
    serves: true,
    runsScripts: true,
    runtime: { catalog, logger },
  })
  await using server = createSkillsServer(skills, {
    version: readVersion(),
    logger,
    commandTools: options.commandTools ?? false,
    adminTools: options.adminTools ?? false,
    authorTools: options.authorTools ?? false,
    ...(config.scope === undefined ? {} : { scope: config.scope }),
  })
  for (const { code, message } of skills.current.sources().flatMap(({ diagnostics }) => diagnostics))
    if (code === 'ROOT_MISSING') logger.warn(message)
  logger.info(describeServed(skills))
  await server.serveStdio({ signal: end.signal })
  stopSignals()
  return EXIT_OK
}

/** Redirects the console to standard error, because stray output would break the protocol. */
function keepOutputClean(): void {
  globalThis.console = new console.Console(process.stderr, process.stderr)
}

export function describeServed(skills: SkillRuntime): string {
  const { number, digest } = skills.current
  return `serving ${skills.current.list().length} skills, generation ${number} ${digest}`
}

export function createErrorLogger(isVerbose: boolean): Logger {
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
