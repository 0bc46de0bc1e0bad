import { shortDigest } from '@skillstoke/core/internal'
import type { PublishReport } from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, toTerminalLine } from '../terminal/output.ts'

type Outcome = PublishReport['skills'][number]['outcome']

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  published: 'published',
  unchanged: 'unchanged',
  removed: 'removed',
  'rolled-back': 'left as it is, because it was rolled back or removed; --force publishes it',
  kept: 'kept, because a refused folder may contain it',
}

/** The outcomes that change a channel. */
const CHANGES: readonly Outcome[] = ['published', 'removed']

/** Answers what a change did. */
export function toAnswer(report: PublishReport, isDryRun = false): Answer {
  return { json: report, text: () => describeReport(report, { isDryRun }), exit: exitOf(report) }
}

/** Returns the exit code after a publication. */
export function exitOf({ refused }: PublishReport): number {
  return refused.length > 0 ? EXIT_FINDINGS : EXIT_OK
}

/** Says that agents wait because a channel is not filled, and what to do. */
export function describeUnfilled({ channel }: PublishReport): string {
  return `note: agents that followed an earlier epoch keep their skills until the channel ${channel} is filled; "stoke fleet publish DIR --mirror" fills it if it refuses no folder, and removes the skills that DIR does not have`
}

export function describeReport(
  { channel, skills, refused, uploadedBytes }: PublishReport,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): readonly string[] {
  const changed = skills.filter(({ outcome }) => CHANGES.includes(outcome)).length
  const named = skills.filter(({ outcome }) => outcome !== 'unchanged')
  const rows = named.map(({ name, outcome, version, previousVersion, revision }) => [
    toTerminalLine(name),
    previousVersion === undefined ? `version ${version}` : `version ${previousVersion} -> ${version}`,
    revision === undefined ? '' : shortDigest(revision),
    `${isDryRun && outcome !== 'kept' ? 'would be ' : ''}${OUTCOMES[outcome]}`,
  ])
  const counts = [
    `${channel}: ${changed} changed, ${skills.length - changed} unchanged`,
    ...(uploadedBytes > 0 ? [`${uploadedBytes} bytes of new files`] : []),
    ...(isDryRun ? ['nothing was written'] : []),
  ]
  return [
    ...(rows.length > 0 ? [formatTable(rows)] : []),
    ...refused.map(({ name, reason }) => `refused ${toTerminalLine(name)}: ${toTerminalLine(reason)}`),
    counts.join('; '),
  ]
}
