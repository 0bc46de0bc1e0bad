import type { Digest, RollbackOutcome, SkillRuntime } from '@skillstoke/core'
import { compareSkill, defined, shortDigest } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { openSkills } from '../skills/open-skills.ts'
import { refuseLink, rollBack } from '../skills/roll-back.ts'
import { EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, paint, paintDiff, printJson, printLine, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

/** Number of revisions that `log` lists if `--limit` is not given. */
const DEFAULT_LOG_LENGTH = 20

/** Implements `stoke log`: prints the recorded history of a skill, newest first. */
export async function log(
  config: Config,
  { json, limit = DEFAULT_LOG_LENGTH }: { readonly json?: boolean; readonly limit?: number },
  name: string,
): Promise<number> {
  const { answer } = await askOrScan<readonly RevisionRecord[]>(
    config,
    {
      ask: async client => (await client.history(name)).records,
      scan: async skills => await skills.history.log(name),
    },
    { needsState: true },
  )
  const records = answer.slice(0, limit)
  if (json) {
    printJson(records)
    return EXIT_OK
  }
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
  config: Config,
  { json }: { readonly json?: boolean },
  target: string,
  from?: string,
  to?: string,
): Promise<number> {
  const { answer } = await askOrScan(
    config,
    {
      ask: async client => await client.compare(target, defined({ from, to })),
      scan: async skills => await compareSkill(target, { from, to }, toAnswering(skills, config)),
    },
    { needsState: true },
  )
  const { name, text, ...difference } = answer
  if (json) {
    printJson(difference)
    return EXIT_OK
  }
  const revisions = `${showRevision(difference.from)} -> ${shortDigest(difference.to)}`
  printLine(`${paint('bold', toTerminalLine(name))}  ${revisions}`)
  for (const { field, before: old, after: now } of difference.fields)
    printLine(`  ${toTerminalLine(field)}: ${show(old)} -> ${show(now)}`)
  for (const grown of difference.newCapabilities)
    printLine(`  ${paint('yellow', 'new capability:')} ${toTerminalLine(grown)}`)
  if (difference.files.length === 0) printLine('  no difference')
  if (text !== '') printLine(paintDiff(text))
  return EXIT_OK
}

interface RollbackFlags {
  readonly json?: boolean
  readonly dryRun?: boolean
  readonly confirmHidden?: boolean
}

/** Implements `stoke rollback`: restores an earlier revision as a new change. */
export async function rollback(
  config: Config,
  { json, dryRun, confirmHidden }: RollbackFlags,
  name: string,
  revision?: string,
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  if (dryRun === true) return await rehearse(name, revision, skills, config, json)
  const done = await rollBack(name, defined({ revision, confirmHidden }), skills)
  if (json) printJson(done)
  else printLine(nameProgram(describeRollback(done, DONE)))
  return EXIT_OK
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
  json?: boolean,
): Promise<number> {
  await refuseLink(target, revision, skills)
  const plan = await skills.history.planRollback(target, revision)
  const { from, to, how } = plan
  // Compares before it prints anything, because this throws if the files are no longer stored.
  const compared =
    how === 'unchanged' || from === to
      ? undefined
      : await compareSkill(target, { from, to }, toAnswering(skills, config))
  if (json) {
    printJson(plan)
    return EXIT_OK
  }
  printLine(describeRollback(plan, PLANNED))
  if (compared?.from !== undefined) printLine(paintDiff(compared.text))
  return EXIT_OK
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
