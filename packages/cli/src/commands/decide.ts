import type { DecisionNote, SkillRuntime } from '@skillstoke/core'
import {
  type DecidedRow,
  type DecisionVerb,
  decideSkill,
  defined,
  listWaiting,
  shortDigest,
  type WaitingRow,
} from '@skillstoke/core/internal'
import { type Config, findingsOf, isAboutStore, isFailure } from '../config/config.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { currentUser, openSkills } from '../skills/open-skills.ts'
import { parseNamedSkill } from '../skills/skill-target.ts'
import type { Answer } from '../terminal/answer.ts'
import { doubtsAbout, toApproveCommand } from '../terminal/approve-command.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import {
  formatDiagnostic,
  paint,
  paintStatus,
  printFindings,
  printJson,
  printLine,
  toTerminalLine,
} from '../terminal/output.ts'
import { findProgramName } from '../terminal/program-name.ts'
import { RELOAD_TIMEOUT_MS } from './reload.ts'

export interface DecideFlags {
  readonly json?: boolean
  /** Whether the caller accepts invisible characters in the revision. */
  readonly confirmHidden?: boolean
  readonly note?: string
}

/**
 * Implements `stoke reject`, `withdraw`, `pin`, `unpin`, `enable` and `disable` for each target. A target is `name` or
 * `source/name`, optionally with `@` and a whole digest. The decisions apply to every process that uses the state
 * directory.
 */
export async function decide(
  verb: Exclude<DecisionVerb, 'approve'>,
  config: Config,
  { json, confirmHidden, ...flags }: DecideFlags,
  targets: readonly string[],
): Promise<number> {
  if (targets.length === 0) throw new UsageError(`name the skills to ${verb}`)
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  checkTargets(targets, skills)
  const wish = { verb, ...toNote(flags), ...defined({ confirmHidden }) }
  const rows: DecidedRow[] = []
  try {
    for (const target of targets)
      rows.push(await decideSkill({ ...wish, ...parseNamedSkill(target) }, skills))
  } finally {
    // Prints the decided skills even if the decision about a later skill fails.
    if (json) printJson(rows)
    else for (const row of rows) printDecided(verb, row)
  }
  return EXIT_OK
}

/**
 * Checks every name before the first decision, so that a mistyped name changes nothing.
 * @throws {SkillError} SKILL_NOT_FOUND
 */
function checkTargets(targets: readonly string[], { review }: SkillRuntime): void {
  for (const target of targets) review.find(parseNamedSkill(target).skill)
}

/** Returns the author and the reason to record with a decision. */
export function toNote({ note }: { readonly note?: string }): DecisionNote {
  return { by: currentUser(), ...defined({ note }) }
}

export function printDecided(verb: DecisionVerb, row: DecidedRow): void {
  const [done, already] = WORDS[verb]
  printLine(
    `${row.isNew ? done : already} ${paint('bold', toTerminalLine(row.name))} of ${toTerminalLine(row.source)}: ${paintStatus(row.status)}, serving ${row.serving ?? 'nothing'}`,
  )
}

/**
 * Implements `stoke pending`: reads the remote sources and lists the revisions that wait for approval, with their new
 * capabilities. Exits with 1 if a revision waits for approval or a source cannot be read.
 */
export async function pending(config: Config): Promise<Answer> {
  const hasRemotes = config.remotes.length > 0
  if (hasRemotes && config.isInteractive)
    process.stderr.write(`asking ${config.remotes.map(({ label }) => label).join(', ')} ...\n`)
  const { answer, from } = await askOrScan(
    config,
    {
      ask: async client => {
        const { sources } = hasRemotes
          ? await client.reload({ timeoutMs: RELOAD_TIMEOUT_MS })
          : await client.skills()
        return { sources, rows: (await client.pending()).skills }
      },
      scan: async skills => {
        if (hasRemotes) await skills.reload()
        return { sources: skills.current.sources(), rows: await listWaiting(skills) }
      },
    },
    { reportsUnreadable: true },
  )
  const { rows } = answer
  const found = findingsOf(answer.sources, config)
  const findings = from.kind === 'dev' ? found : found.filter(each => !isAboutStore(each))
  printFindings(findings)
  const isUnread = findings.some(isFailure)
  return {
    json: rows.map(({ unreported: _unreported, ...row }) => row),
    text: function* () {
      if (rows.length === 0)
        yield `nothing waits for approval${isUnread ? ' in the sources that could be read' : ''}`
      for (const row of rows) yield* describeWaiting(row, config)
    },
    exit: rows.length === 0 && !isUnread ? EXIT_OK : EXIT_FINDINGS,
  }
}

function* describeWaiting(row: WaitingRow, config: Config): Generator<string> {
  const from = row.serving === null ? 'new' : shortDigest(row.serving)
  const to = row.revision === null ? 'broken' : shortDigest(row.revision)
  yield `${paint('bold', toTerminalLine(row.target))}  ${from} -> ${to}`
  for (const grown of row.newCapabilities) yield `  ${paint('yellow', 'new:')} ${toTerminalLine(grown)}`
  for (const doubtful of [...doubtsAbout(row), ...row.unreported]) yield `  ${formatDiagnostic(doubtful)}`
  const diff = toTerminalLine(toCommandLine(['diff', row.target, ...config.options]))
  yield paint('dim', `  ${findProgramName()} ${diff}`)
  const diagnostics = [...row.diagnostics, ...row.unreported]
  if (row.revision !== null) yield paint('dim', `  ${toApproveCommand({ ...row, diagnostics }, config)}`)
}

/** The two texts to print for each verb: one for a new decision, one for a decision that changes nothing. */
const WORDS: Readonly<Record<DecisionVerb, readonly [string, string]>> = {
  approve: ['approved', 'approved already:'],
  reject: ['rejected', 'rejected already:'],
  withdraw: ['withdrawn', 'no decision to withdraw:'],
  pin: ['pinned', 'pinned already:'],
  unpin: ['unpinned', 'not pinned:'],
  enable: ['enabled', 'not disabled:'],
  disable: ['disabled', 'disabled already:'],
}
