import {
  type DecidedSkill,
  type DecisionNote,
  describeNewCapabilities,
  type SkillReport,
  type SkillRuntime,
  shortDigest,
  targetOf,
} from '@skillstoke/core'
import { type Config, findingsOf, isFailure } from '../config/config.ts'
import { type DecisionVerb, decideSkill, type Wish } from '../decide-skill.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { currentUser, openSkills } from '../open-skills.ts'
import {
  createPaint,
  paintStatus,
  printFindings,
  printJson,
  printLine,
  toCommandLine,
  toTerminalLine,
} from '../output.ts'
import { toRow } from '../server/skill-rows.ts'

export interface DecideFlags {
  readonly json: boolean
  /** Approve everything that waits. */
  readonly all?: boolean
  readonly note?: string
}

/**
 * `stoke approve`, `reject`, `pin`, `unpin`, `enable`, `disable`: each of the skills named, as `name`, `source/name` or either with
 * `@` and the first digits of a revision. What is decided holds for every process of the state directory.
 */
export async function decide(
  verb: DecisionVerb,
  targets: readonly string[],
  config: Config,
  flags: DecideFlags,
): Promise<number> {
  if (targets.length === 0 && flags.all !== true)
    throw new UsageError(
      verb === 'approve' ? 'name the skills to approve, or use --all' : `name the skills to ${verb}`,
    )
  if (targets.length > 0 && flags.all === true)
    throw new UsageError('--all is for everything that waits; name no skills with it')
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const meta = { by: currentUser(), ...(flags.note === undefined ? {} : { note: flags.note }) }
  const granted = new Map(
    skills.review.pending().map(report => [targetOf(report), capabilitiesOf(report, skills)]),
  )
  const reports: DecidedSkill[] = []
  try {
    if (flags.all === true) reports.push(...(await skills.review.approveAll(meta)))
    for (const target of targets) reports.push(await decideSkill(toWish(verb, target, meta), skills))
  } finally {
    // One that cannot be decided does not hide what was.
    if (flags.json) printJson(reports.map(report => ({ ...toRow(report, null), isNew: report.isNew })))
    else printDecided(verb, reports, granted, config)
  }
  if (reports.length === 0 && !flags.json) printLine('nothing waits for approval')
  return EXIT_OK
}

function printDecided(
  verb: DecisionVerb,
  reports: readonly DecidedSkill[],
  granted: ReadonlyMap<string, readonly string[]>,
  { hasColor }: Config,
): void {
  const paint = createPaint(hasColor)
  for (const report of reports) {
    const serving = report.serving === undefined ? 'nothing' : shortDigest(report.serving)
    const [done, already] = WORDS[verb]
    printLine(
      `${report.isNew ? done : already} ${paint('bold', toTerminalLine(report.name))} of ${toTerminalLine(report.source)}: ${paintStatus(report.status, paint)}, serving ${serving}`,
    )
    if (verb !== 'approve') continue
    for (const grown of granted.get(targetOf(report)) ?? []) printLine(`  with it: ${toTerminalLine(grown)}`)
  }
}

/**
 * `stoke pending`: asks the other places what they have now, and tells what waits for a decision, with what is new about it. Exits
 * with 1 when something does, or a place could not be asked.
 */
export async function pending(config: Config, flags: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  if (config.remotes.length > 0) {
    if (config.isInteractive)
      process.stderr.write(`asking ${config.remotes.map(({ label }) => label).join(', ')} ...\n`)
    await skills.reload()
  }
  const paint = createPaint(config.hasColor)
  const findings = findingsOf(skills.current.sources(), config)
  printFindings(findings, paint)
  const reports = skills.review.pending()
  if (flags.json)
    printJson(
      reports.map(report => ({ ...toRow(report, null), newCapabilities: capabilitiesOf(report, skills) })),
    )
  else if (reports.length === 0)
    printLine(
      findings.some(isFailure) ? 'nothing that is known waits for approval' : 'nothing waits for approval',
    )
  for (const report of flags.json ? [] : reports) {
    const target = targetOf(report)
    const from = report.serving === undefined ? 'new' : shortDigest(report.serving)
    const to = report.revision === undefined ? 'broken' : shortDigest(report.revision)
    printLine(`${paint('bold', toTerminalLine(target))}  ${from} -> ${to}`)
    for (const grown of capabilitiesOf(report, skills))
      printLine(`  ${paint('yellow', 'new:')} ${toTerminalLine(grown)}`)
    for (const words of [
      ['diff', target],
      ['approve', `${target}@${to}`],
    ])
      printLine(paint('dim', `  stoke ${toTerminalLine(toCommandLine([...words, ...config.options]))}`))
  }
  return reports.length === 0 && !findings.some(isFailure) ? EXIT_OK : EXIT_FINDINGS
}

/** What was done, and what is said when it was so already. */
const WORDS: Readonly<Record<DecisionVerb, readonly [string, string]>> = {
  approve: ['approved', 'approved already:'],
  reject: ['rejected', 'rejected already:'],
  pin: ['pinned', 'pinned already:'],
  unpin: ['unpinned', 'not pinned:'],
  enable: ['enabled', 'not disabled:'],
  disable: ['disabled', 'disabled already:'],
}

/** `name@a1b2c3d4`; a folder may have an `@`, and then a `/` after it. */
function toWish(verb: DecisionVerb, text: string, note: DecisionNote): Wish {
  const [, skill = text, revision] = /^(.+)@([^@/]+)$/.exec(text) ?? []
  return { verb, skill, ...(revision === undefined ? {} : { revision }), ...note }
}

function capabilitiesOf(report: SkillReport, skills: SkillRuntime): readonly string[] {
  const { skill, live } = skills.review.revisionsOf(report)
  return skill === undefined ? [] : describeNewCapabilities(live, skill)
}
