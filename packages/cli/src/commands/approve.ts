import type { Diagnostic, Digest, SkillReport, SkillRuntime } from '@skillstoke/core'
import {
  type DecidedRow,
  decideSkill,
  defined,
  describeModified,
  describeWaiting,
  targetOf,
  type WaitingRow,
} from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { openSkills } from '../skills/open-skills.ts'
import { parseNamedSkill } from '../skills/skill-target.ts'
import { doubtsAbout, toApproveCommand } from '../terminal/approve-command.ts'
import { askYes } from '../terminal/ask.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatDiagnostic, paint, printJson, printLine, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'
import { type DecideFlags, printDecided, toNote } from './decide.ts'

export interface ApproveFlags extends DecideFlags {
  /** Whether to approve every revision that waits for approval. */
  readonly all?: boolean
  /** Whether to approve the waiting revision immediately, instead of showing it and asking the person first. */
  readonly yes?: boolean
}

/**
 * Implements `stoke approve`: approves the revision whose whole digest is given. If no digest is given, shows the
 * waiting revision at the terminal, asks the person, and approves exactly the shown revision.
 */
export async function approve(
  config: Config,
  flags: ApproveFlags,
  targets: readonly string[],
): Promise<number> {
  if (targets.length === 0 && !flags.all) throw new UsageError('name the skills to approve, or use --all')
  if (targets.length > 0 && flags.all)
    throw new UsageError('--all approves everything that waits; leave out the skill names')
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const wanted = flags.all ? skills.review.pending().map(targetOf) : targets
  const approved: DecidedRow[] = []
  try {
    for (const target of wanted) {
      const done = await approveOne(target, skills, config, flags)
      if (done !== undefined) approved.push(done)
    }
  } finally {
    // Prints the approved skills even if the approval of a later skill fails.
    if (flags.json) printJson(approved)
  }
  if (wanted.length === 0 && !flags.json) printLine('nothing waits for approval')
  return approved.length === wanted.length ? EXIT_OK : EXIT_FINDINGS
}

/** Returns `undefined` if the person at the terminal declines. */
async function approveOne(
  target: string,
  skills: SkillRuntime,
  config: Config,
  flags: ApproveFlags,
): Promise<DecidedRow | undefined> {
  const named = parseNamedSkill(target)
  const { report, place } = skills.review.findWaiting(named.skill)
  const waiting = await describeWaiting(report, skills)
  const revision = named.revision ?? report.revision
  let hidden: readonly Diagnostic[] = []
  if (named.revision === undefined && report.revision !== undefined && report.revision !== report.serving) {
    if (!flags.yes && (flags.json || !config.isInteractive)) refuseUnseen(waiting, report.revision, config)
    if (!flags.yes) {
      hidden = await skills.review.findHidden(place, report.revision)
      if (!(await showAndAsk({ report, waiting, revision: report.revision, hidden }, skills, config))) {
        printLine(`not approved: ${toTerminalLine(report.name)} of ${toTerminalLine(report.source)}`)
        return undefined
      }
    }
  }
  const wish = { verb: 'approve', skill: targetOf(report), ...defined({ revision }) } as const
  const confirmHidden = flags.confirmHidden === true || hidden.length > 0
  const done = await decideSkill({ ...wish, ...toNote(flags), confirmHidden }, skills)
  if (!flags.json) {
    printDecided('approve', done)
    for (const grown of waiting.newCapabilities) printLine(`  with it: ${toTerminalLine(grown)}`)
  }
  return done
}

function refuseUnseen({ target, ...waiting }: WaitingRow, revision: Digest, config: Config): never {
  const diagnostics = [...waiting.diagnostics, ...waiting.unreported]
  const command = toApproveCommand({ target, diagnostics, revision }, config)
  throw new UsageError(
    `an approval needs the revision that you have read; run: ${command} (--yes approves the waiting revision unread)`,
  )
}

interface ShownRevision {
  readonly report: SkillReport
  readonly waiting: WaitingRow
  readonly revision: Digest
  /** What a person cannot see in the revision. */
  readonly hidden: readonly Diagnostic[]
}

async function showAndAsk(
  { report, waiting, revision, hidden }: ShownRevision,
  skills: SkillRuntime,
  config: Config,
): Promise<boolean> {
  const { skill, live } = skills.review.revisionsOf(report)
  const target = toTerminalLine(targetOf(report))
  printLine(`${paint('bold', target)}  ${report.serving ?? 'new'} -> ${revision}`)
  for (const grown of waiting.newCapabilities)
    printLine(`  ${paint('yellow', 'new:')} ${toTerminalLine(grown)}`)
  const others = doubtsAbout(report).filter(({ code }) => code !== 'HIDDEN_TEXT')
  for (const doubtful of [...hidden, ...others]) printLine(`  ${formatDiagnostic(doubtful)}`)
  // Fails if the skill has changed since the report was read, because the diff must show exactly the revision to
  // approve.
  if (skill?.revision !== revision)
    throw new UsageError(`${target} changed while it was read; run the command again`)
  printLine(paintDiff(await describeModified(live, skill, toAnswering(skills, config))))
  return await askYes(
    hidden.length > 0 ? `approve ${target}, and confirm its hidden text?` : `approve ${target}?`,
  )
}
