import type { Digest, RollbackOutcome, SkillRuntime } from '@skillstoke/core'
import { shortDigest, targetOf } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { describeModified, paintDiff } from '../describe-change.ts'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { currentUser, openSkills } from '../open-skills.ts'
import { createPaint, formatTable, printJson, printLine, toTerminalLine } from '../output.ts'
import { nameProgram } from '../program-name.ts'
import { findLinkTarget } from '../real-path.ts'

/** Implements `stoke log`: prints the recorded history of a skill, newest first. */
export async function log(
  name: string,
  config: Config,
  flags: { readonly json: boolean; readonly limit: number },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const records = (await skills.history.log(name)).slice(0, flags.limit)
  if (flags.json) {
    printJson(records)
    return EXIT_OK
  }
  const paint = createPaint(config.hasColor)
  const rows = records.map(record => [
    record.revision === undefined ? '-' : paint('bold', shortDigest(record.revision)),
    record.event,
    new Date(record.at).toISOString().slice(0, 16).replace('T', ' '),
    record.cause,
    toTerminalLine(describeAuthor(record)),
    toTerminalLine(record.note ?? ''),
  ])
  printLine(formatTable([['REVISION', 'EVENT', 'TIME (UTC)', 'CAUSE', 'BY', 'NOTE'], ...rows]))
  return EXIT_OK
}

/**
 * Implements `stoke diff`: compares two revisions. If no revision is given, shows the change that waits for approval,
 * or the last change if no change waits.
 */
export async function diff(
  name: string,
  revisions: { readonly from?: string; readonly to?: string },
  config: Config,
  flags: { readonly json: boolean },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const { before, after, ...difference } = await skills.history.diff(name, revisions.from, revisions.to)
  if (flags.json) {
    printJson(difference)
    return EXIT_OK
  }
  const paint = createPaint(config.hasColor)
  const [from, to] = [showRevision(difference.from), shortDigest(difference.to)]
  printLine(`${paint('bold', toTerminalLine(after.name))}  ${from} -> ${to}`)
  for (const { field, before: old, after: now } of difference.fields)
    printLine(`  ${toTerminalLine(field)}: ${show(old)} -> ${show(now)}`)
  for (const grown of difference.newCapabilities)
    printLine(`  ${paint('yellow', 'new capability:')} ${toTerminalLine(grown)}`)
  if (difference.files.length === 0) printLine('  no difference')
  const empty = { ...after, files: [] }
  const text = await describeModified(before ?? empty, after, skills)
  if (text !== '') printLine(paintDiff(text, paint))
  return EXIT_OK
}

/** Implements `stoke rollback`: restores an earlier revision as a new change. */
export async function rollback(
  name: string,
  revision: string | undefined,
  config: Config,
  flags: { readonly json: boolean; readonly isDryRun: boolean; readonly confirmsHidden: boolean },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const wanted = revision === undefined ? {} : { revision }
  await refuseLink(name, revision, skills)
  if (flags.isDryRun) return await rehearse(name, revision, skills, config, flags)
  const done = await skills.history.rollback(name, {
    ...wanted,
    by: currentUser(),
    confirmHidden: flags.confirmsHidden,
  })
  if (flags.json) {
    printJson(done)
    return EXIT_OK
  }
  printLine(nameProgram(describeRollback(done, DONE)))
  return EXIT_OK
}

/** Throws if the skill is a link, because other projects may use the target folder of the link. */
async function refuseLink(name: string, revision: string | undefined, skills: SkillRuntime): Promise<void> {
  // A removed skill has no report. Its folder is gone and cannot be a link, so its revision can be restored.
  const named = skills.current
    .reports()
    .filter(each => [each.name, `${each.source}/${each.name}`, targetOf(each)].includes(name))
  const report = named.find(({ serving }) => serving !== undefined) ?? named[0]
  const target = report?.directory === undefined ? undefined : findLinkTarget(report.directory)
  if (report === undefined || target === undefined) return
  const { how, to } = await skills.history.planRollback(name, revision)
  if (how === 'written')
    throw new UsageError(
      `${JSON.stringify(report.name)} is a link to ${target}, and rollback does not write through links; restore the text there, or serve the old revision with "stoke pin ${targetOf(report)}@${to}"; to remove the link, remove ${report.directory}`,
    )
}

type Words = Readonly<Record<'written' | 'pinned', string>>

const DONE: Words = {
  written: 'restored the old files in the folder',
  pinned:
    'pinned the old revision, because the source is read-only or the skill was pinned; "stoke unpin" follows the source again',
}
const PLANNED: Words = {
  written: 'would restore the old files; nothing was changed',
  pinned: 'would pin the old revision; nothing was changed',
}

function describeRollback({ skill, from, to, how }: RollbackOutcome, words: Words): string {
  const name = toTerminalLine(skill)
  if (how === 'unchanged') return `${name} is at ${to} already; name an earlier revision`
  return `${name}  ${showRevision(from)} -> ${to}: ${words[how]}`
}

async function rehearse(
  target: string,
  revision: string | undefined,
  skills: SkillRuntime,
  config: Config,
  flags: { readonly json: boolean },
): Promise<number> {
  const plan = await skills.history.planRollback(target, revision)
  // Calls `describePlan()` before printing anything, because `describePlan()` throws if the files are no longer stored.
  const text = plan.how === 'unchanged' ? undefined : await describePlan(target, plan, skills)
  if (flags.json) {
    printJson(plan)
    return EXIT_OK
  }
  printLine(describeRollback(plan, PLANNED))
  if (text !== undefined) printLine(paintDiff(text, createPaint(config.hasColor)))
  return EXIT_OK
}

/** Returns a diff of the files that a rollback would change, or `undefined` if there is nothing to compare. */
async function describePlan(
  target: string,
  { from, to }: RollbackOutcome,
  skills: SkillRuntime,
): Promise<string | undefined> {
  const { before, after } = await skills.history.diff(target, from, to)
  if (before === undefined || from === to) return undefined
  return await describeModified(before, after, skills)
}

function showRevision(revision: Digest | undefined): string {
  return revision === undefined ? 'nothing' : shortDigest(revision)
}

function describeAuthor({ author }: RevisionRecord): string {
  return author.name === undefined ? author.kind : `${author.name} (${author.kind})`
}

function show(value: unknown): string {
  if (value === undefined) return 'none'
  const text = toTerminalLine(typeof value === 'string' ? value : JSON.stringify(value))
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
