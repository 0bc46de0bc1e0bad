import { SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { readReports } from './agent-report.ts'
import { tryReadEpoch } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { EPOCH_SUBJECT, HEADS } from './fleet-subjects.ts'

const MOST_REPORTS = 1_000

/**
 * Returns a warning if agents report more of the current epoch than the stream of the heads contains. If several hosts do,
 * a backup was probably restored, and agents refuse what is published until a new epoch begins. The report of one host may
 * be wrong. Looks at up to 1,000 reports.
 *
 * @example
 * ```ts no-run
 * import { FleetConnection, findRestoredBackup } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * console.log(await findRestoredBackup(fleet))
 * ```
 */
export async function findRestoredBackup(fleet: FleetConnection): Promise<string | undefined> {
  try {
    const engine = await fleet.open()
    const reports = await readReports(engine, MOST_REPORTS)
    const stored = await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader')
    const epoch = tryReadEpoch(stored?.data, fleet.trusted)
    // Read last, so that no agent can be ahead of it without a reason.
    const stream = await engine.describeStream(HEADS)
    if (epoch === undefined || stream === undefined) return undefined
    const newest = stream.state.last_seq
    const ahead = reports.filter(report => report.epoch === epoch.epoch && report.seq > newest)
    const [first] = ahead
    if (first === undefined) return undefined
    const hosts = new Set(ahead.map(({ host }) => host)).size
    const claim = `agent ${quote(first.agent)} on host ${quote(first.host)} reports sequence ${first.seq}, but the stream ends at ${newest}`
    return hosts === 1
      ? `${claim}, as after a restored backup; no other host reports this, so compare it with what you know`
      : `${claim}, and ${hosts - 1} other hosts report the like, as after a restored backup; agents refuse to go back, so run "stoke fleet init --new-epoch"`
  } catch (thrown) {
    // Servers that do not answer are reported by the next step of the caller.
    if (SkillError.isInstance(thrown, 'IO_FAILED')) return undefined
    throw thrown
  }
}
