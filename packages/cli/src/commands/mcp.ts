import { createSkillsServer } from '@skillstoke/mcp'
import type { Config } from '../config/config.ts'
import type { McpClientId } from '../mcp-clients/client-ids.ts'
import {
  createErrorLogger,
  describeServed,
  openServedSkills,
  toServerOptions,
} from '../server/served-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import type { ClientFlags } from './mcp-clients.ts'

interface McpFlags extends ClientFlags {
  readonly check?: McpClientId | true
  readonly printConfig?: McpClientId | true
}

/** Implements `stoke mcp`: serves the skills over standard input and output until the client disconnects. */
export async function mcp(config: Config, flags: McpFlags): Promise<Answer | number> {
  const { check, printConfig } = flags
  if (printConfig !== undefined || check !== undefined) {
    const { checkClient, printClientConfig } = await import('./mcp-clients.ts')
    if (printConfig !== undefined) {
      return printClientConfig(printConfig === true ? undefined : printConfig, config, flags)
    }
    return await checkClient(check === true ? undefined : check, config, flags)
  }
  if (!config.areRootsChosen) {
    throw new UsageError(
      'stoke mcp serves only folders that you name; add --root DIR, or --config FILE with "roots" in it',
    )
  }
  keepOutputClean()
  const logger = createErrorLogger(flags.verbose)
  using end = abortOnSignal()
  await using skills = await openServedSkills(config, logger)
  await using server = createSkillsServer(skills, { ...toServerOptions(config, flags), logger })
  for (const { code, message } of skills.current.sources().flatMap(({ diagnostics }) => diagnostics))
    if (code === 'ROOT_MISSING') logger.warn(message)
  logger.info(describeServed(skills))
  await server.serveStdio({ signal: end.signal })
  return EXIT_OK
}

/** Redirects the console to standard error, because stray output would break the protocol. */
function keepOutputClean(): void {
  globalThis.console = new console.Console(process.stderr, process.stderr)
}
