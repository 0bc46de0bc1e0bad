import type { RollbackOutcome } from '@skillstoke/core'
import { type Answering, defined, diffSkill } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { openSkills } from '../skills/open-skills.ts'
import { refuseLink, rollBack } from '../skills/roll-back.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, UsageError } from '../terminal/exit-code.ts'
import { formatTime, paint, printLine, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'
import { findProgramName, nameProgram } from '../terminal/program-name.ts'
import { openMeasured } from '../trial/open-trial.ts'
import { showRevision } from './history.ts'

interface RollbackFlags {
  readonly json?: boolean
  readonly dryRun?: boolean
  /** Whether to restore a revision that was chosen from the list, without asking. */
  readonly yes?: boolean
  readonly confirmHidden?: boolean
}

/** Implements `stoke undo`: shows the last change of a skill, asks, and restores the revision before it. */
export async function undo(config: Config, flags: RollbackFlags, name: string): Promise<Answer> {
  return await rollback(config, { ...flags, asks: true }, name)
}

/**
 * Implements `stoke rollback`: restores an earlier revision as a new change. A revision that was chosen from the list,
 * for example with `-1` or a date, is shown first with its whole digest, and restored only if the person agrees.
 */
export async function rollback(
  config: Config,
  { json, dryRun, yes, confirmHidden, asks: mustAsk }: RollbackFlags & { readonly asks?: boolean },
  name: string,
  revision?: string,
): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  // Digits name a revision themselves. Everything else chooses one from the list.
  const asks = mustAsk ?? !/^(sha256:)?[0-9a-f]*$/i.test(revision ?? '')
  let wanted = revision
  if (asks || dryRun) {
    await refuseLink(name, revision, skills)
    let plan = await skills.history.planRollback(name, revision)
    // The revision before the newest text may be the one that is pinned already.
    if (mustAsk && plan.how === 'unchanged') plan = await skills.history.planRollback(name, '-1')
    const lines = await describePlan(name, plan, toAnswering(skills, config))
    if (dryRun || plan.how === 'unchanged') return { json: plan, text: () => lines }
    const at = (await skills.history.log(name)).find(step => step.revision === plan.to)?.at
    const chosen = at === undefined ? plan.to : `${plan.to} of ${formatTime(at)} UTC`
    if (!yes && (json || !config.isInteractive)) {
      const command = toCommandLine(['rollback', name, plan.to, ...config.options])
      throw new UsageError(
        `this would restore ${chosen}; to restore it without a question, add --yes or run: ${findProgramName()} ${toTerminalLine(command)}`,
      )
    }
    if (!yes) {
      printLine(lines.join('\n'))
      const isWanted = await askYes(`restore ${chosen}?`)
      if (!isWanted) return { json: plan, text: () => ['nothing was changed'], exit: EXIT_FINDINGS }
    }
    // Restores exactly the revision that was shown, even if another one was recorded meanwhile.
    wanted = plan.to
  }
  const done = await rollBack(name, defined({ revision: wanted, confirmHidden }), skills)
  const scores = await listScores(done, config)
  return { json: done, text: () => [nameProgram(describe(done, DONE)), ...scores] }
}

/** Describes a planned rollback, with the difference that it would make. */
async function describePlan(
  target: string,
  plan: RollbackOutcome,
  answering: Answering,
): Promise<readonly string[]> {
  const { from, to, how } = plan
  const line = describe(plan, PLANNED)
  if (how === 'unchanged' || from === to || from === undefined) return [line]
  return [line, paintDiff((await diffSkill(target, { from, to }, answering)).text)]
}

/** Returns what the tests of the restored revision gave when it was served. */
async function listScores({ skill, to }: RollbackOutcome, config: Config): Promise<readonly string[]> {
  const store = await openMeasured(config)
  try {
    const scores = store.listScores(skill).filter(({ revision }) => revision === to)
    return scores.map(({ passed, total, model, at }) =>
      paint(
        'dim',
        `  its tests: ${passed} of ${total} with ${toTerminalLine(model)}, ${formatTime(Date.parse(at))}`,
      ),
    )
  } finally {
    store.close()
  }
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

function describe({ skill, from, to, how }: RollbackOutcome, words: Words): string {
  const name = toTerminalLine(skill)
  if (how === 'unchanged') return `${name} is at ${to} already; name an earlier revision`
  // A broken text has no revision, so "from" is the live one.
  const before = from === to ? 'broken text' : showRevision(from)
  return `${name}  ${before} -> ${showRevision(to)}: ${words[how]}\n${paint('dim', `  ${to}`)}`
}
