import { setTimeout as sleep } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import { compareAgents, readReports } from './agent-report.ts'
import { type ChannelChange, type Decision, listPlanned } from './channel-change.ts'
import type { ManifestFile } from './manifest.ts'
import type { PublishOptions } from './publish-options.ts'
import { retrying } from './retries.ts'

/** Far below the age at which a collection may remove uploaded files. */
export const LONGEST_PREFETCH_MS = 600_000
const ASK_MS = 500
/** The announcement is repeated for agents that have started or failed since, and if a message was lost. */
const REPEAT_MS = 10_000

/**
 * Announces the files of a plan, and waits until all agents of the channel have them.
 * @throws {SkillError} TIMED_OUT, which names the agents that do not have the files
 */
export async function waitForFiles(
  change: ChannelChange,
  decisions: readonly Decision[],
  { prefetchMs = 0, onProgress }: PublishOptions,
): Promise<void> {
  const files = new Map<string, ManifestFile>()
  for (const { record } of listPlanned(decisions))
    if (record.kind === 'skill') for (const file of record.files) files.set(file.digest, file)
  if (files.size === 0) return
  const end = performance.now() + prefetchMs
  try {
    for (let announceAt = 0; ; ) {
      if (performance.now() >= announceAt) {
        await change.announce([...files.values()])
        announceAt = performance.now() + REPEAT_MS
      }
      const reports = await retrying(change.signal, async () => await readReports(change.engine))
      const agents = reports.filter(({ channel }) => channel === change.channel).sort(compareAgents)
      const late = agents.filter(({ prefetched }) => prefetched !== change.publication.publishId)
      onProgress?.({ step: 'prefetch', done: agents.length - late.length, total: agents.length })
      if (late.length === 0) return
      if (performance.now() > end) {
        const names = late.map(({ host, agent }) => `${host}/${agent}`)
        const message = `after ${prefetchMs / 1_000} s, these agents do not have all files: ${names.join(', ')}; nothing was committed`
        throw new SkillError('TIMED_OUT', message, { data: { agents: names } })
      }
      await sleep(ASK_MS, undefined, { signal: change.signal }).catch(() => undefined) // the next request throws the reason
    }
  } finally {
    // Agents that start later need not retrieve the files. The next announcement replaces one that has no end.
    await change.announce([]).catch(() => undefined)
  }
}
