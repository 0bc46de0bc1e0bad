import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { SkillRuntime } from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import { openUsageLog, type UsageCount } from '@skillstoke/core/internal/node'
import type { Config } from '../config/config.ts'

/** The client of `stoke mcp --check`, whose loads are no use. */
export const CHECKING_CLIENT = 'skillstoke-check'

/** The request of an MCP client that is being answered. */
const request = new AsyncLocalStorage<{ readonly client?: string }>()

/**
 * Counts what a runtime loads and what is searched without a match, until the runtime closes.
 * @param usedBy name of the user of the skills if no MCP client asks
 */
export async function keepUsage(skills: SkillRuntime, config: Config, usedBy: string): Promise<void> {
  const log = await openUsageLog(config.stateDirectory)
  channel('tracing:skillstoke:mcp.request:start').bindStore(request)
  const findClient = (): string => request.getStore()?.client ?? usedBy
  const count = (use: Pick<UsageCount, 'kind' | 'name' | 'revision'>): void => {
    const client = findClient()
    if (client !== CHECKING_CLIENT) log.add({ ...use, client })
  }
  skills.events.on('skill:used', ({ skill: name, revision, by, tool }) => {
    if (by === 'user' || tool === TOOL_NAMES.loadSkill) count({ kind: 'load', name, revision })
  })
  skills.events.on('skill:missed', ({ query }) => count({ kind: 'miss', name: query, revision: '' }))
  const close = skills.close.bind(skills)
  skills.close = async () => {
    await close()
    log.close()
  }
}
