import { type Digest, SkillError } from '@skillstoke/core'
import { defined, diffSkill, listServed, type SkillDiff, shortDigest } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import { ApiError } from '../client/api-error.ts'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { listHistory } from '../skills/commit-authors.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatTable, formatTime, paint, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'

/** Number of revisions that `log` lists if `--limit` is not given. */
const DEFAULT_LOG_LENGTH = 20
/** Characters of a field that `diff` shows. */
const MAX_VALUE = 80

interface LogFlags {
  readonly limit?: number
  /** Whether to print the difference of each revision to the one before it. */
  readonly patch?: boolean
}

/** A step, and its difference to the revision before; null for the first revision, and if files are no longer stored. */
type LoggedStep = RevisionRecord & { readonly patch?: string | null }

/** Compares two revisions of the skill. */
type Compare = (from: Digest, to: Digest) => Promise<Pick<SkillDiff, 'text'>>

/** Implements `stoke log`: prints the recorded history of a skill, newest first. */
export async function log(config: Config, flags: LogFlags, name: string): Promise<Answer> {
  const { answer } = await askOrScan(
    config,
    {
      ask: async client => {
        const { records } = await client.history(name)
        return await pickSteps(records, flags, async (from, to) => await client.diff(name, { from, to }))
      },
      scan: async skills => {
        const answering = toAnswering(skills, config)
        const records = await listHistory(name, skills)
        return await pickSteps(
          records,
          flags,
          async (from, to) => await diffSkill(name, { from, to }, answering),
        )
      },
    },
    { needsState: true },
  )
  return { json: answer, text: () => describeLog(answer, flags) }
}

async function pickSteps(
  records: readonly RevisionRecord[],
  { limit = DEFAULT_LOG_LENGTH, patch }: LogFlags,
  compare: Compare,
): Promise<readonly LoggedStep[]> {
  if (!patch) return records.slice(0, limit)
  const steps: LoggedStep[] = []
  for (const [index, record] of records.slice(0, limit).entries()) {
    const before = records.slice(index + 1).find(({ revision }) => revision !== undefined)?.revision
    const hasChanged = record.revision !== undefined && before !== undefined && before !== record.revision
    steps.push({ ...record, patch: hasChanged ? await comparePair(before, record.revision, compare) : null })
  }
  return steps
}

/** Returns null if the files of a revision are no longer stored. */
async function comparePair(from: Digest, to: Digest, compare: Compare): Promise<string | null> {
  try {
    return (await compare(from, to)).text
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'REVISION_NOT_FOUND')) return null
    if (thrown instanceof ApiError && thrown.code === 'NOT_FOUND') return null
    throw thrown
  }
}

function* describeLog(steps: readonly LoggedStep[], { patch: hasPatches }: LogFlags): Generator<string> {
  const served = listServed(steps)
  const isServed = steps.find(({ event }) => event === 'live' || event === 'removed')?.event === 'live'
  const rows = steps.map(record => {
    const back = served.indexOf(record) + (isServed ? 0 : 1)
    return [
      served.includes(record) ? (back === 0 ? 'now' : `-${back}`) : '',
      record.revision === undefined ? '-' : paint('bold', shortDigest(record.revision)),
      record.event,
      formatTime(record.at),
      record.cause,
      toTerminalLine(describeAuthor(record)),
      toTerminalLine(record.note ?? ''),
    ]
  })
  const table = formatTable([['', 'REVISION', 'EVENT', 'TIME (UTC)', 'CAUSE', 'BY', 'NOTE'], ...rows])
  if (!hasPatches) {
    yield table
    return
  }
  const [, ...lines] = table.split('\n')
  for (const [index, { patch }] of steps.entries()) {
    yield `${lines[index]}`
    if (patch) yield `${paintDiff(patch)}\n`
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
    yield `  ${toTerminalLine(field)}: ${show(before, after)} -> ${show(after, before)}`
  for (const grown of newCapabilities)
    yield `  ${paint('yellow', 'new capability:')} ${toTerminalLine(grown)}`
  if (text === '') yield '  no difference'
  if (text !== '') yield paintDiff(text)
}

export function showRevision(revision: Digest | undefined): string {
  return revision === undefined ? 'nothing' : shortDigest(revision)
}

function describeAuthor({ author }: RevisionRecord): string {
  return author.name === undefined ? author.kind : `${author.name} (${author.kind})`
}

/** Shows a value in one line, around the place where it differs from the other value. */
function show(value: unknown, other: unknown): string {
  if (value === undefined) return 'none'
  const [text, compared] = [value, other].map(each =>
    toTerminalLine(typeof each === 'string' ? each : (JSON.stringify(each) ?? '')),
  ) as [string, string]
  const same = [...text].findIndex((letter, index) => letter !== compared[index])
  const start = text.length > MAX_VALUE && same > MAX_VALUE / 2 ? same - MAX_VALUE / 4 : 0
  const end = start + MAX_VALUE
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${text.length > end ? '…' : ''}`
}
