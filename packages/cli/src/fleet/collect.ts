import { defined } from '@skillstoke/core/internal'
import type { Answer } from '../terminal/answer.ts'
import { ProgressLine } from './progress-line.ts'
import { type FleetVerbFlags, withFleet } from './with-fleet.ts'

export interface CollectFlags extends FleetVerbFlags {
  readonly keep?: number
  readonly grace?: number
}

const HOUR_MS = 3_600_000

/** Implements `stoke fleet gc`: removes old versions and unused files. */
export async function collect({ keep, grace, ...flags }: CollectFlags): Promise<Answer> {
  return await withFleet(flags, async ({ publisher }) => {
    using line = new ProgressLine()
    const report = await publisher.collectGarbage({
      isDryRun: flags.dryRun === true,
      ...defined({ keepVersions: keep, graceMs: grace === undefined ? undefined : grace * HOUR_MS }),
      onProgress: ({ step, done }) => line.show(step === 'list' ? 'listed' : 'removed', done),
    })
    line.end()
    const removed = flags.dryRun === true ? 'would remove' : 'removed'
    const { versions, pieces, bytes, keptPieces } = report
    return {
      json: report,
      text: () => [
        `${removed} ${versions} versions and ${pieces} pieces of files (${bytes} bytes); ${keptPieces} pieces stay`,
      ],
    }
  })
}
