import type { SkillAgent } from '@skillstoke/agent'
import type { SkillTests, TriggerTest } from '../evals/skill-tests.ts'
import { toInterval } from './interval.ts'
import {
  type Asked,
  checkJobOptions,
  type JobOptions,
  type JobReport,
  runJobs,
  type TrialJob,
} from './run-jobs.ts'
import { runTrial, type Trial } from './trial.ts'

/** Who is asked, and how often. */
export interface AskedModel extends Asked {
  /** Serves the catalog that is tested, without scripts. */
  readonly agent: SkillAgent
}

/** What a model did with one message. */
export interface TriggerTrial extends TriggerTest {
  /** Runs that loaded the skill, and all runs. */
  readonly loads: number
  readonly runs: number
  /** Names of other skills that were loaded. */
  readonly others: readonly string[]
  /** Whether most runs did what the test wants. Absent if no run is known, as then `triggerRate` may be. */
  readonly passed?: boolean
}

export interface TriggerTrials extends JobReport {
  readonly skill: string
  readonly trials: readonly TriggerTrial[]
  readonly passed: number
  readonly total: number
  /** The 95 % interval of the share of runs that did what the tests want. */
  readonly interval: readonly [low: number, high: number]
}

/** Lists a job for each message. Neither the body nor the other tests change an answer, so only the catalog is read. */
export function listTriggerJobs(tests: SkillTests, { agent }: AskedModel): readonly TrialJob[] {
  const catalog = readCatalog(agent)
  return labelled(tests).map(({ message }) => toJob({ agent, message, endsWithLoad: true }, catalog))
}

/** @param read what the model may read besides the catalog and the message */
export function toJob(trial: Trial, catalog: string, ...read: readonly string[]): TrialJob {
  const { agent, message } = trial
  const { skills } = agent.options
  const { current } = skills
  return {
    key: [catalog, message, agent.options.call ?? {}, ...read],
    texts: [catalog, message],
    run: async (meter, signal) => {
      const run = await runTrial(trial, meter, signal)
      // The answer may belong to another catalog.
      if (skills.current !== current) throw new Error('the skills changed while a message was answered')
      return run
    },
  }
}

/** Lists the messages that say what should happen. The prompt of a test of answers does not. */
function labelled({ triggers }: SkillTests): readonly TriggerTest[] {
  return triggers.filter(({ isPrompt }) => !isPrompt)
}

/** Returns the system text of a new conversation, which has the catalog as the budget cuts it. */
export function readCatalog(agent: SkillAgent): string {
  using conversation = agent.conversation()
  return conversation.system
}

/**
 * Sends each message to a model in a conversation of its own, and records which skills the model loads. Each turn ends with the
 * first load. Messages that were sent before, with the same catalog and the same model, are not sent again.
 *
 * @example
 * ```ts
 * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
 * import { readSkillTests } from '@skillstoke/author'
 * import { openTrialStore, runTriggerTrials } from '@skillstoke/author/trials'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new SkillAgent({ skills, model: createOfflineModel() })
 * const text = 'fires: [Use the skill "support-pdf".]'
 * const tests = readSkillTests('support-pdf', [{ path: 'evals/tests.yaml', text }])
 * const store = await openTrialStore('./tests.sqlite')
 * const { signal } = new AbortController()
 * const { passed, total } = await runTriggerTrials(tests, { agent, model: 'offline' }, { store, signal })
 * console.log(`${passed} of ${total}`) // prints 1 of 1
 * store.close()
 * ```
 */
export async function runTriggerTrials(
  tests: SkillTests,
  asked: AskedModel,
  options: JobOptions,
): Promise<TriggerTrials> {
  checkJobOptions('runTriggerTrials()', asked, options)
  const { runs, report } = await runJobs(listTriggerJobs(tests, asked), asked, options)
  const trials = labelled(tests).map((test, index): TriggerTrial => {
    const own = runs[index] ?? []
    const loads = own.filter(({ loaded }) => loaded.includes(tests.skill)).length
    const others = [...new Set(own.flatMap(({ loaded }) => loaded))].filter(name => name !== tests.skill)
    const trial = { ...test, loads, runs: own.length, others }
    const measured = { triggerRate: loads / own.length, passed: countWanted(trial) * 2 > own.length }
    return own.length === 0 ? trial : { ...trial, ...measured }
  })
  const wanted = trials.reduce((sum, trial) => sum + countWanted(trial), 0)
  const all = trials.reduce((sum, trial) => sum + trial.runs, 0)
  return {
    ...report,
    skill: tests.skill,
    trials,
    passed: trials.filter(({ passed }) => passed === true).length,
    total: trials.filter(({ passed }) => passed !== undefined).length,
    interval: toInterval(wanted, all),
  }
}

/** Counts the runs that did what the test wants. */
function countWanted({ kind, loads, runs }: TriggerTrial): number {
  return kind === 'fires' ? loads : runs - loads
}
