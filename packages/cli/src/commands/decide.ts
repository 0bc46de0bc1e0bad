import type { DecidedSkill, DecisionNote, Diagnostic, SkillReport, SkillRuntime } from '@skillstoke/core'
import { describeNewCapabilities, shortDigest, targetOf } from '@skillstoke/core/internal'
import { toApproveCommand } from '../approve-command.ts'
import type { DecisionVerb } from '../client/decision-verbs.ts'
import { toCommandLine } from '../command-line.ts'
import { type Config, findingsOf, isAboutStore, isFailure } from '../config/config.ts'
import { decideSkill } from '../decide-skill.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { currentUser, openSkills } from '../open-skills.ts'
import {
  createPaint,
  formatDiagnostic,
  paintStatus,
  printFindings,
  printJson,
  printLine,
  toTerminalLine,
} from '../output.ts'
import { findProgramName } from '../program-name.ts'
import { toRow } from '../server/skill-rows.ts'
import { parseNamedSkill } from '../skill-target.ts'

export interface DecideFlags {
  readonly json: boolean
  /** Whether the caller accepts invisible characters in the revision. */
  readonly confirmsHidden: boolean
  readonly note?: string
}

/**
 * Implements `stoke reject`, `pin`, `unpin`, `enable` and `disable` for each target. A target is `name` or
 * `source/name`, optionally with `@` and a whole digest. The decisions apply to every process that uses the state
 * directory.
 */
export async function decide(
  verb: Exclude<DecisionVerb, 'approve'>,
  targets: readonly string[],
  config: Config,
  flags: DecideFlags,
): Promise<number> {
  if (targets.length === 0) throw new UsageError(`name the skills to ${verb}`)
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const meta = toNote(flags)
  const reports: DecidedSkill[] = []
  try {
    for (const target of targets)
      reports.push(
        await decideSkill(
          { verb, ...parseNamedSkill(target), ...meta, confirmHidden: flags.confirmsHidden },
          skills,
        ),
      )
  } finally {
    // Prints the decided skills even if the decision about a later skill fails.
    if (flags.json) printJson(reports.map(toDecidedRow))
    else for (const report of reports) printDecided(verb, report, config)
  }
  return EXIT_OK
}

/** Returns the author and the reason to record with a decision. */
export function toNote({ note }: { readonly note?: string }): DecisionNote {
  return { by: currentUser(), ...(note === undefined ? {} : { note }) }
}

export function toDecidedRow(report: DecidedSkill): object {
  return { ...toRow(report), isNew: report.isNew }
}

export function printDecided(verb: DecisionVerb, report: DecidedSkill, { hasColor }: Config): void {
  const paint = createPaint(hasColor)
  const [done, already] = WORDS[verb]
  printLine(
    `${report.isNew ? done : already} ${paint('bold', toTerminalLine(report.name))} of ${toTerminalLine(report.source)}: ${paintStatus(report.status, paint)}, serving ${report.serving ?? 'nothing'}`,
  )
}

/**
 * Implements `stoke pending`: reads the remote sources and lists the revisions that wait for approval, with their new
 * capabilities. Exits with 1 if a revision waits for approval or a source cannot be read.
 */
export async function pending(config: Config, flags: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', reportsUnreadable: true })
  if (config.remotes.length > 0) {
    if (config.isInteractive)
      process.stderr.write(`asking ${config.remotes.map(({ label }) => label).join(', ')} ...\n`)
    await skills.reload()
  }
  const paint = createPaint(config.hasColor)
  const findings = findingsOf(skills.current.sources(), config).filter(each => !isAboutStore(each))
  printFindings(findings, paint)
  const reports = skills.review.pending()
  if (flags.json)
    printJson(reports.map(report => ({ ...toRow(report), newCapabilities: capabilitiesOf(report, skills) })))
  else if (reports.length === 0)
    printLine(
      findings.some(isFailure)
        ? 'nothing waits for approval in the sources that could be read'
        : 'nothing waits for approval',
    )
  for (const report of flags.json ? [] : reports) {
    const target = targetOf(report)
    const from = report.serving === undefined ? 'new' : shortDigest(report.serving)
    const to = report.revision === undefined ? 'broken' : shortDigest(report.revision)
    printLine(`${paint('bold', toTerminalLine(target))}  ${from} -> ${to}`)
    for (const grown of capabilitiesOf(report, skills))
      printLine(`  ${paint('yellow', 'new:')} ${toTerminalLine(grown)}`)
    const unreported = await findUnreported(report, skills)
    for (const doubtful of [...doubtsAbout(report), ...unreported])
      printLine(`  ${formatDiagnostic(doubtful, paint)}`)
    const diff = toTerminalLine(toCommandLine(['diff', target, ...config.options]))
    printLine(paint('dim', `  ${findProgramName()} ${diff}`))
    const diagnostics = [...report.diagnostics, ...unreported]
    if (report.revision !== undefined)
      printLine(paint('dim', `  ${toApproveCommand({ ...report, target, diagnostics }, config)}`))
  }
  return reports.length === 0 && !findings.some(isFailure) ? EXIT_OK : EXIT_FINDINGS
}

/** The two texts to print for each verb: one for a new decision, one for a decision that changes nothing. */
const WORDS: Readonly<Record<DecisionVerb, readonly [string, string]>> = {
  approve: ['approved', 'approved already:'],
  reject: ['rejected', 'rejected already:'],
  pin: ['pinned', 'pinned already:'],
  unpin: ['unpinned', 'not pinned:'],
  enable: ['enabled', 'not disabled:'],
  disable: ['disabled', 'disabled already:'],
}

/** Returns the diagnostics about invisible text and about names that look like other names. */
export function doubtsAbout({ diagnostics }: SkillReport): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => code === 'HIDDEN_TEXT' || code === 'NAME_LOOKALIKE')
}

/**
 * Returns the hidden text that only an approval looks for: text in large files, and scripts that are not text. Returns
 * an empty list if the files are not retrieved yet.
 */
export async function findUnreported(
  report: SkillReport,
  skills: SkillRuntime,
): Promise<readonly Diagnostic[]> {
  const { skill } = skills.review.revisionsOf(report)
  if (skill === undefined || !skills.isStored(skill)) return []
  const { place } = skills.review.find(targetOf(report))
  const hidden = await skills.review.findHidden(place, skill.revision)
  return hidden.filter(({ path, line }) => !isReported(report, path, line))
}

/** Returns the report with the hidden text that only an approval looks for. */
export async function withUnreported(report: SkillReport, skills: SkillRuntime): Promise<SkillReport> {
  const found = await findUnreported(report, skills)
  return found.length === 0 ? report : { ...report, diagnostics: [...report.diagnostics, ...found] }
}

function isReported(
  { diagnostics }: SkillReport,
  path: string | undefined,
  line: number | undefined,
): boolean {
  return diagnostics.some(
    each => each.code === 'HIDDEN_TEXT' && each.line === line && each.path?.endsWith(path ?? '') === true,
  )
}

/** Returns the capabilities that the newest revision declares and the served revision does not. */
export function capabilitiesOf(report: SkillReport, skills: SkillRuntime): readonly string[] {
  const { skill, live } = skills.review.revisionsOf(report)
  return skill === undefined ? [] : describeNewCapabilities(live, skill)
}
