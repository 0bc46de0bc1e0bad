import { describeNewCapabilities, type SkillReport, type SkillRuntime, shortDigest } from '@skillstoke/core'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { currentUser, openSkills } from '../open-skills.ts'
import { createPaint, paintStatus, printJson, printLine, toTerminalLine } from '../output.ts'
import { toRow } from '../server/skill-rows.ts'

export type DecisionVerb = 'approve' | 'reject' | 'pin' | 'unpin' | 'enable' | 'disable'

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
  await using skills = await openSkills(config, { watching: 'off' })
  const meta = { by: currentUser(), ...(flags.note === undefined ? {} : { note: flags.note }) }
  const granted = new Map(
    skills.review.pending().map(report => [placeOf(report), capabilitiesOf(report, skills)]),
  )
  const reports: SkillReport[] = []
  if (flags.all === true) reports.push(...(await skills.review.approveAll(meta)))
  for (const target of targets) {
    const { name, revision } = splitTarget(target)
    if (verb === 'pin') reports.push(await pin(skills, name, revision, meta))
    else
      reports.push(
        await skills.review[verb](name, { ...meta, ...(revision === undefined ? {} : { revision }) }),
      )
  }
  if (flags.json) {
    printJson(reports.map(report => toRow(report, null)))
    return EXIT_OK
  }
  const paint = createPaint(config.hasColor)
  if (reports.length === 0) printLine('nothing waits for approval')
  for (const report of reports) {
    const serving = report.serving === undefined ? 'nothing' : shortDigest(report.serving)
    printLine(
      `${PAST[verb]} ${paint('bold', toTerminalLine(report.name))} of ${toTerminalLine(report.source)}: ${paintStatus(report.status, paint)}, serving ${serving}`,
    )
    if (verb !== 'approve') continue
    for (const grown of granted.get(placeOf(report)) ?? []) printLine(`  with it: ${toTerminalLine(grown)}`)
  }
  return EXIT_OK
}

/** `stoke pending`: what waits for a decision, with what is new about it. Exits with 1 when something does. */
export async function pending(config: Config, flags: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  const reports = skills.review.pending()
  if (flags.json)
    printJson(
      reports.map(report => ({ ...toRow(report, null), newCapabilities: capabilitiesOf(report, skills) })),
    )
  else if (reports.length === 0) printLine('nothing waits for approval')
  else {
    const paint = createPaint(config.hasColor)
    for (const report of reports) {
      const from = report.serving === undefined ? 'new' : shortDigest(report.serving)
      const to = report.revision === undefined ? 'broken' : shortDigest(report.revision)
      printLine(`${paint('bold', toTerminalLine(`${report.source}/${report.name}`))}  ${from} -> ${to}`)
      for (const grown of capabilitiesOf(report, skills))
        printLine(`  ${paint('yellow', 'new:')} ${toTerminalLine(grown)}`)
      printLine(
        paint(
          'dim',
          `  stoke diff ${report.source}/${report.name}; stoke approve ${report.source}/${report.name}@${to}`,
        ),
      )
    }
  }
  return reports.length === 0 ? EXIT_OK : EXIT_FINDINGS
}

const PAST: Readonly<Record<DecisionVerb, string>> = {
  approve: 'approved',
  reject: 'rejected',
  pin: 'pinned',
  unpin: 'unpinned',
  enable: 'enabled',
  disable: 'disabled',
}

async function pin(
  skills: SkillRuntime,
  name: string,
  revision: string | undefined,
  meta: { readonly by: string },
): Promise<SkillReport> {
  if (revision === undefined) return await skills.review.pin(name, meta)
  const { to } = await skills.history.diff(name, revision, revision)
  return await skills.review.pin(name, { ...meta, revision: to })
}

/** `name@a1b2c3d4`; names have no `@`. */
function splitTarget(target: string): { readonly name: string; readonly revision: string | undefined } {
  const at = target.lastIndexOf('@')
  return at < 0
    ? { name: target, revision: undefined }
    : { name: target.slice(0, at), revision: target.slice(at + 1) }
}

function placeOf({ source, location }: SkillReport): string {
  return `${source}\0${location}`
}

function capabilitiesOf(report: SkillReport, skills: SkillRuntime): readonly string[] {
  const { skill, live } = skills.review.revisionsOf(report)
  return skill === undefined ? [] : describeNewCapabilities(live, skill)
}
