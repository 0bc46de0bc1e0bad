import type { Digest, RollbackOutcome, SkillRuntime } from '@skillstoke/core'
import { defined, diffSkill, type SkillDiff, shortDigest } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { openSkills } from '../skills/open-skills.ts'
import { refuseLink, rollBack } from '../skills/roll-back.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatTable, paint, paintDiff, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

/** Number of revisions that `log` lists if `--limit` is not given. */
const DEFAULT_LOG_LENGTH = 20

/** Implements `stoke log`: prints the recorded history of a skill, newest first. */
export async function log(
  config: Config,
  { limit = DEFAULT_LOG_LENGTH }: { readonly limit?: number },
  name: string,
): Promise<Answer> {
  const { answer } = await askOrScan<readonly RevisionRecord[]>(
    config,
    {
      ask: async client => (await client.history(name)).records,
      scan: async skills => await skills.history.log(name),
    },
    { needsState: true },
  )
  const records = answer.slice(0, limit)
  return {
    json: records,
    text: () => {
      const rows = records.map(record => [
        record.revision === undefined ? '-' : paint('bold', shortDigest(record.revision)),
        record.event,
        new Date(record.at).toISOString().slice(0, 16).replace('T', ' '),
        record.cause,
        toTerminalLine(describeAuthor(record)),
        toTerminalLine(record.note ?? ''),
      ])
      return [formatTable([['REVISION', 'EVENT', 'TIME (UTC)', 'CAUSE', 'BY', 'NOTE'], ...rows])]
    },
  }
}

/**
 * Implements `stoke diff`: compares two revisions. If no revision is given, shows the change that was refused or waits
 * for approval, or else the last change.
 */
export async function diff(
  config: Config,
  _flags: object,
  target: string,
  from?: string,
  to?: string,
): Promise<Answer> {
  const { answer } = await askOrScan(
    config,
    {
      ask: async client => await client.diff(target, defined({ from, to })),
      scan: async skills => await diffSkill(target, { from, to }, toAnswering(skills, config)),
    },
    { needsState: true },
  )
  const { name: _name, text: _text, ...difference } = answer
  return { json: difference, text: () => describeDifference(answer) }
}

function* describeDifference({
  name,
  text,
  from,
  to,
  fields,
  newCapabilities,
}: SkillDiff): Generator<string> {
  yield `${paint('bold', toTerminalLine(name))}  ${showRevision(from)} -> ${to === null ? 'the broken text' : shortDigest(to)}`
  for (const { field, before, after } of fields)
    yield `  ${toTerminalLine(field)}: ${show(before)} -> ${show(after)}`
  for (const grown of newCapabilities)
    yield `  ${paint('yellow', 'new capability:')} ${toTerminalLine(grown)}`
  if (text === '') yield '  no difference'
  if (text !== '') yield paintDiff(text)
}

interface RollbackFlags {
  readonly dryRun?: boolean
  readonly confirmHidden?: boolean
}

/** Implements `stoke rollback`: restores an earlier revision as a new change. */
export async function rollback(
  config: Config,
  { dryRun, confirmHidden }: RollbackFlags,
  name: string,
  revision?: string,
): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  if (dryRun === true) return await rehearse(name, revision, skills, config)
  const done = await rollBack(name, defined({ revision, confirmHidden }), skills)
  return { json: done, text: () => [nameProgram(describeRollback(done, DONE))] }
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
): Promise<Answer> {
  await refuseLink(target, revision, skills)
  const plan = await skills.history.planRollback(target, revision)
  const { from, to, how } = plan
  // Compares before it prints anything, because this throws if the files are no longer stored.
  const compared =
    how === 'unchanged' || from === to
      ? undefined
      : await diffSkill(target, { from, to }, toAnswering(skills, config))
  const difference = compared?.from === undefined ? [] : [paintDiff(compared.text)]
  return { json: plan, text: () => [describeRollback(plan, PLANNED), ...difference] }
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
