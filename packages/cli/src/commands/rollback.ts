import type { RollbackOutcome, SkillRuntime } from '@skillstoke/core'
import { defined, diffSkill } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { openSkills } from '../skills/open-skills.ts'
import { refuseLink, rollBack } from '../skills/roll-back.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, UsageError } from '../terminal/exit-code.ts'
import { paint, printLine, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'
import { findProgramName, nameProgram } from '../terminal/program-name.ts'
import { openMeasured } from '../trial/open-trial.ts'
import { formatTime, showRevision } from './history.ts'

interface RollbackFlags {
  readonly json?: boolean
  readonly dryRun?: boolean
  /** Whether to restore a revision that was chosen from the list, without asking. */
  readonly yes?: boolean
  readonly confirmHidden?: boolean
}

/**
 * Implements `stoke rollback`: restores an earlier revision as a new change. A revision that was chosen from the list,
 * for example with `-1` or a date, is shown first with its whole digest, and restored only if the person agrees.
 */
export async function rollback(
  config: Config,
  flags: RollbackFlags,
  name: string,
  revision?: string,
): Promise<Answer> {
  // Digits name a revision themselves. Everything else chooses one from the list.
  const asks = revision !== undefined && !/^(sha256:)?[0-9a-f]+$/i.test(revision)
  return await goBack(config, { ...flags, asks }, name, revision)
}

/** Implements `stoke undo`: shows the last change of a skill, asks, and restores the revision before it. */
export async function undo(config: Config, flags: RollbackFlags, name: string): Promise<Answer> {
  return await goBack(config, { ...flags, asks: true }, name, undefined)
}

async function goBack(
  config: Config,
  { asks, json, dryRun, yes, confirmHidden }: RollbackFlags & { readonly asks: boolean },
  name: string,
  revision: string | undefined,
): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  let wanted = revision
  if (asks || dryRun) {
    const { plan, lines, chosen } = await preview(name, revision, skills, config)
    if (dryRun || plan.how === 'unchanged') return { json: plan, text: () => lines }
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
  return `${name}  ${showRevision(from)} -> ${showRevision(to)}: ${words[how]}\n${paint('dim', `  ${to}`)}`
}

/** A planned rollback, and what a person sees before it. */
interface Preview {
  readonly plan: RollbackOutcome
  readonly lines: readonly string[]
  /** The whole digest, and since when it was served. */
  readonly chosen: string
}

async function preview(
  target: string,
  revision: string | undefined,
  skills: SkillRuntime,
  config: Config,
): Promise<Preview> {
  await refuseLink(target, revision, skills)
  const plan = await skills.history.planRollback(target, revision)
  const { from, to, how } = plan
  const lines = [describe(plan, PLANNED)]
  if (how !== 'unchanged' && from !== to && from !== undefined)
    lines.push(paintDiff((await diffSkill(target, { from, to }, toAnswering(skills, config))).text))
  const at = (await skills.history.log(target)).find(step => step.revision === to)?.at
  return { plan, lines, chosen: at === undefined ? to : `${to} of ${formatTime(at)} UTC` }
}
