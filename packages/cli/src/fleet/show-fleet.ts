import { setTimeout as sleep } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import { shortDigest } from '@skillstoke/core/internal'
import { type FleetReport, FleetStatus } from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, paint, printJsonLine, printLine, toTerminalLine } from '../terminal/output.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import { type FleetVerbFlags, withFleet } from './with-fleet.ts'

const WATCH_MS = 2_000

export interface StatusFlags extends FleetVerbFlags {
  readonly watch?: boolean
}

/** Implements `stoke fleet log`: lists the versions of a skill. */
export async function log(flags: FleetVerbFlags, name: string): Promise<Answer> {
  return await withFleet(flags, async ({ publisher, inChannel }) => {
    const records = await publisher.history(name, inChannel)
    const rows = records.map((record, index) => [
      String(record.version),
      record.kind === 'skill' ? shortDigest(record.revision) : '-',
      record.at.slice(0, 16).replace('T', ' '),
      toTerminalLine(record.publisher),
      [
        index === 0 && record.kind === 'skill' ? 'current' : '',
        record.kind === 'removal' ? 'removed' : '',
        record.kind === 'skill' && record.rollbackOf !== undefined
          ? `rollback to version ${record.rollbackOf}`
          : '',
        record.kind === 'skill' && record.promotedFrom !== undefined
          ? `from ${record.promotedFrom.channel}, version ${record.promotedFrom.version}`
          : '',
        toTerminalLine(record.note ?? ''),
      ]
        .filter(text => text !== '')
        .join('; '),
    ])
    const head = ['VERSION', 'REVISION', 'TIME (UTC)', 'BY', 'NOTE']
    return { json: records, text: () => [formatTable([head, ...rows])] }
  })
}

/** Implements `stoke fleet status`: shows the versions of a channel, and which agent serves what. */
export async function status(flags: StatusFlags): Promise<Answer | number> {
  return await withFleet<Answer | number>(flags, async ({ fleet, inChannel }) => {
    const reader = new FleetStatus(fleet, inChannel)
    if (flags.watch !== true) {
      const report = await reader.read()
      const isCurrent = report.counts.current === report.agents.length && report.refusals.length === 0
      return { json: report, text: () => describeStatus(report), exit: isCurrent ? EXIT_OK : EXIT_FINDINGS }
    }
    using end = abortOnSignal()
    while (!end.signal.aborted) {
      await showOnce(reader, flags.json === true)
      await sleep(WATCH_MS, undefined, { signal: end.signal }).catch(() => undefined)
    }
    return EXIT_INTERRUPTED
  })
}

/** Shows the status in place of the last one. If the servers do not answer, the last one stays. */
async function showOnce(reader: FleetStatus, isJson: boolean): Promise<void> {
  const time = new Date().toTimeString().slice(0, 8)
  try {
    const report = await reader.read()
    const clear = process.stdout.isTTY === true ? '\u001b[2J\u001b[H' : ''
    if (isJson) printJsonLine(report)
    else printLine(`${clear}${time}\n${describeStatus(report).join('\n')}`)
  } catch (thrown) {
    if (!SkillError.isInstance(thrown, 'IO_FAILED')) throw thrown
    process.stderr.write(`${time}  ${toTerminalLine(thrown.message)}; asking again\n`)
  }
}

const COLORS: Readonly<Record<keyof FleetReport['counts'], Parameters<typeof paint>[0]>> = {
  current: 'green',
  behind: 'yellow',
  held: 'yellow',
  stale: 'red',
}

function describeStatus(report: FleetReport): readonly string[] {
  const { channel, channels, servers, serverVersion, digest, skills, agents, counts, refusals } = report
  const lines = [
    `${paint('bold', channel)}  ${skills.length} ${skills.length === 1 ? 'skill' : 'skills'}  ${shortDigest(digest)}  nats-server ${serverVersion} at ${servers}`,
  ]
  const others = channels.filter(each => each !== channel)
  if (skills.length === 0) lines.push(`the channel ${channel} has no skills`)
  if (others.length > 0) lines.push(`other channels: ${others.join(', ')}`)
  if (skills.length > 0)
    lines.push(
      '',
      formatTable([
        ['SKILL', 'VERSION', 'REVISION', 'PUBLISHED (UTC)', 'BY', 'NOTE'],
        ...skills.map(skill => [
          toTerminalLine(skill.name),
          String(skill.version),
          shortDigest(skill.revision),
          new Date(skill.at).toISOString().slice(0, 16).replace('T', ' '),
          toTerminalLine(skill.publisher),
          toTerminalLine(skill.note ?? ''),
        ]),
      ]),
    )
  lines.push('')
  if (agents.length === 0) lines.push('no agent has reported in the last 60 seconds')
  else
    lines.push(
      formatTable([
        ['HOST', 'AGENT', 'STATE', 'DIGEST', 'LAG', 'SANDBOX', 'NOTE'],
        ...agents.map(agent => [
          toTerminalLine(agent.host),
          toTerminalLine(agent.agent),
          paint(COLORS[agent.state], agent.state),
          shortDigest(agent.digest),
          agent.lagMs === undefined ? '-' : `${agent.lagMs} ms`,
          toTerminalLine(agent.sandbox ?? '-'),
          toTerminalLine(
            [
              agent.staleSince === undefined ? '' : `stale since ${new Date(agent.staleSince).toISOString()}`,
              agent.held > 0 ? `${agent.held} held` : '',
              ...agent.errors,
            ]
              .filter(text => text !== '')
              .join('; '),
          ),
        ]),
      ]),
      `${agents.length} ${agents.length === 1 ? 'agent' : 'agents'}: ${counts.current} current, ${counts.behind} behind, ${counts.held} held, ${counts.stale} stale`,
    )
  for (const { subject, reason } of refusals)
    lines.push(`refused ${toTerminalLine(subject)}: ${toTerminalLine(reason)}`)
  return lines
}
