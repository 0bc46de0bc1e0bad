import { SkillError } from '@skillstoke/core'
import { type AgentReport, readReport } from './agent-report.ts'
import { tryReadEpoch } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { AGENTS, EPOCH_SUBJECT, HEADS } from './fleet-subjects.ts'
import type { NatsEngine } from './nats-engine.ts'

/**
 * Returns a warning if agents have seen more of the current epoch than the stream of the heads contains. Then a backup was
 * restored, and agents refuse what is published until a new epoch begins. Looks at up to 1,000 reports.
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
    const reports = await readSomeReports(engine)
    const stored = await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader')
    const epoch = stored === undefined ? undefined : tryReadEpoch(stored.data, fleet.trusted)
    // Read last, so that no agent can be ahead of it without a reason.
    const stream = await engine.describeStream(HEADS)
    if (epoch === undefined || stream === undefined) return undefined
    const newest = stream.state.last_seq
    const ahead = reports.filter(report => report.epoch === epoch.document.epoch && report.seq > newest)
    const [first] = ahead
    if (first === undefined) return undefined
    return `${ahead.length === 1 ? 'an agent has' : `${ahead.length} agents have`} seen sequence ${first.seq}, but the stream ends at ${newest}, as after a restored backup; agents refuse to go back, so run "stoke fleet init --new-epoch"`
  } catch (thrown) {
    // Servers that do not answer are reported by the next step of the caller.
    if (SkillError.isInstance(thrown, 'IO_FAILED')) return undefined
    throw thrown
  }
}

async function readSomeReports(engine: NatsEngine): Promise<readonly AgentReport[]> {
  for await (const { messages } of engine.readFrom(AGENTS, 1))
    return messages.flatMap(message => readReport(message) ?? [])
  return []
}
