import type { SkillAgent } from '@skillstoke/agent'
import { checkOptions, digestOf, type KnownOptions, number, whole } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import type { SkillTests, TriggerTest } from '../evals/skill-tests.ts'
import { toInterval } from './interval.ts'
import { type JobOptions, type JobReport, runJobs, type TrialJob } from './run-jobs.ts'

/** Who is asked, and how often. */
export interface AskedModel {
  /** Serves the catalog that is tested, without scripts. */
  readonly agent: SkillAgent
  /** Name of the model, for the cache and for people. */
  readonly model: string
  /** How often each message is sent. @default 1 */
  readonly repeats?: number
}

/** What a model did with one message. */
export interface TriggerTrial extends TriggerTest {
  /** Runs that loaded the skill, and all runs. */
  readonly loads: number
  readonly runs: number
  /** Names of other skills that were loaded. */
  readonly others: readonly string[]
  /** Whether most runs did what the test wants. Absent if no run is known. */
  readonly passed?: boolean
}

export interface TriggerTrials extends Omit<JobReport, 'runs'> {
  readonly skill: string
  readonly trials: readonly TriggerTrial[]
  readonly passed: number
  readonly total: number
  /** The 95 % interval of the share of runs that did what the tests want. */
  readonly interval: readonly [low: number, high: number]
}

const KNOWN: KnownOptions<JobOptions> = {
  ...{ store: true, signal: true, onProgress: true, price: true },
  concurrency: whole(1),
  maxCalls: whole(0),
  maxCost: number(0),
}

/** Lists the jobs of all messages. A prompt without a label is not sent. */
export function planTriggerTrials(tests: SkillTests, asked: AskedModel): readonly TrialJob[] {
  const { agent, model, repeats = 1 } = asked
  const catalog = readCatalog(agent)
  return labelled(tests).flatMap(({ message }) =>
    Array.from({ length: repeats }, (_, repeat) => ({
      ...{ agent, message, endsWithLoad: true },
      // Neither the body nor the other tests change the answer, so they are not part of the key.
      key: digestOf(
        JSON.stringify([catalog, message, model, agent.options.call ?? {}, repeat]),
        portableHasher,
      ),
    })),
  )
}

function labelled({ triggers }: SkillTests): readonly TriggerTest[] {
  return triggers.filter(({ isPrompt }) => !isPrompt)
}

/** Returns the system text of a new conversation, which has the catalog as the budget cuts it. */
export function readCatalog(agent: SkillAgent): string {
  const conversation = agent.conversation()
  try {
    return conversation.system
  } finally {
    conversation.close()
  }
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
  checkOptions('runTriggerTrials()', options, KNOWN)
  const { repeats = 1 } = asked
  const { runs, ...report } = await runJobs(planTriggerTrials(tests, asked), options)
  const trials = labelled(tests).map((test, index): TriggerTrial => {
    const own = runs.slice(index * repeats, (index + 1) * repeats).flatMap(run => run ?? [])
    const loads = own.filter(({ loaded }) => loaded.includes(tests.skill)).length
    const others = [...new Set(own.flatMap(({ loaded }) => loaded))].filter(name => name !== tests.skill)
    const wanted = test.kind === 'fires' ? loads : own.length - loads
    const passed = own.length === 0 ? {} : { passed: wanted * 2 > own.length }
    return { ...test, loads, runs: own.length, others, ...passed }
  })
  const wanted = trials.reduce(
    (sum, { kind, loads, runs: all }) => sum + (kind === 'fires' ? loads : all - loads),
    0,
  )
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
