import type { RollbackOutcome, SkillRuntime } from '@skillstoke/core'
import { defined, diffSkill, isRevisionSelector } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { openSkills } from '../skills/open-skills.ts'
import { refuseLink, rollBack } from '../skills/roll-back.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { paint, printLine, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'
import { findProgramName, nameProgram } from '../terminal/program-name.ts'
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
  const asks = revision !== undefined && isRevisionSelector(revision)
  return await goBack('rollback', config, { ...flags, asks }, name, revision)
}

/** Implements `stoke undo`: shows the last change of a skill, asks, and restores the revision before it. */
export async function undo(config: Config, flags: RollbackFlags, name: string): Promise<Answer> {
  return await goBack('undo', config, { ...flags, asks: true }, name, undefined)
}

async function goBack(
  verb: 'rollback' | 'undo',
  config: Config,
  { asks, json, dryRun, yes, confirmHidden }: RollbackFlags & { readonly asks: boolean },
  name: string,
  revision: string | undefined,
): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const plan = asks || dryRun ? await previewRollback(name, revision, skills, config) : undefined
  if (plan !== undefined && (dryRun || plan.how === 'unchanged'))
    return { json: plan.outcome, text: () => [describe(plan, PLANNED), ...plan.difference] }
  if (plan !== undefined && !yes) {
    if (json || !config.isInteractive) {
      const words = [verb, name, ...(revision === undefined ? [] : [plan.to]), ...config.options]
      const command = `${findProgramName()} ${toCommandLine([...words, ...(verb === 'undo' ? ['--yes'] : [])])}`
      throw new UsageError(
        `this would restore ${plan.to}, ${plan.servedSince}; to restore it without a question, run: ${toTerminalLine(command)}`,
      )
    }
    for (const line of [describe(plan, PLANNED), ...plan.difference]) printLine(line)
    if (!(await askYes(`restore ${plan.to}, ${plan.servedSince}?`)))
      return { json: plan.outcome, text: () => ['nothing was changed'], exit: EXIT_FINDINGS }
  }
  // Restores exactly the revision that was shown, even if another one was recorded meanwhile.
  const wanted = plan?.to ?? revision
  const done = await rollBack(name, defined({ revision: wanted, confirmHidden }), skills)
  return { json: done, text: () => [nameProgram(describe(done, DONE))], exit: EXIT_OK }
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

/** What a rollback would do, and the difference that it would make. */
interface RollbackPreview extends RollbackOutcome {
  readonly outcome: RollbackOutcome
  readonly difference: readonly string[]
  /** When the revision was served, in words. */
  readonly servedSince: string
}

async function previewRollback(
  target: string,
  revision: string | undefined,
  skills: SkillRuntime,
  config: Config,
): Promise<RollbackPreview> {
  await refuseLink(target, revision, skills)
  const outcome = await skills.history.planRollback(target, revision)
  const { from, to, how } = outcome
  // Compares before it prints anything, because this throws if the files are no longer stored.
  const compared =
    how === 'unchanged' || from === to
      ? undefined
      : await diffSkill(target, { from, to }, toAnswering(skills, config))
  const difference = compared?.from === undefined ? [] : [paintDiff(compared.text)]
  const step = (await skills.history.log(target)).find(({ revision: each }) => each === to)
  const servedSince = step === undefined ? 'of unknown age' : `of ${formatTime(step.at)} UTC`
  return { ...outcome, outcome, difference, servedSince }
}
