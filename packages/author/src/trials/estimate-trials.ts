import type { LanguageModel } from 'ai'
import type { AnswerTest, SkillTests } from '../evals/skill-tests.ts'
import { type AnswerOptions, listAnswerJobs, listQuestions, toJudgement } from './answer-trials.ts'
import {
  type Asked,
  type EstimateOptions,
  estimateRuns,
  type PlannedRun,
  planRuns,
  type TrialEstimate,
} from './run-jobs.ts'
import { type AskedModel, listTriggerJobs } from './trigger-trials.ts'

/**
 * Estimates what `runTriggerTrials()`, or with columns `runAnswerTrials()`, will ask before anything is spent. An answer takes at
 * least this much, because the model calls again after each tool call.
 *
 * @example
 * ```ts
 * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
 * import { readSkillTests } from '@skillstoke/author'
 * import { estimateTrials, openTrialStore } from '@skillstoke/author/trials'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new SkillAgent({ skills, model: createOfflineModel() })
 * const tests = readSkillTests('support-pdf', [{ path: 'evals/tests.yaml', text: 'fires: [Read this PDF]' }])
 * const store = await openTrialStore('./tests.sqlite')
 * const estimate = estimateTrials(tests, { agent, model: 'offline' }, { store, countTokens: text => text.length / 4 })
 * console.log(estimate.calls, estimate.known) // prints 1 0
 * store.close()
 * ```
 */
export function estimateTrials(
  tests: SkillTests,
  asked: AskedModel | AskedAnswers,
  options: EstimateOptions,
): TrialEstimate {
  if (!('columns' in asked))
    return estimateRuns(planRuns(listTriggerJobs(tests, asked), asked, options.store).flat(), options)
  const { columns } = asked
  const planned = planRuns(listAnswerJobs(tests, columns), asked, options.store)
  const judged = tests.answers.flatMap((test, row) => {
    const own = new Set(planned.slice(row * columns.length, (row + 1) * columns.length).flat())
    return [...own].flatMap(run => planJudgements(run, test, asked, options))
  })
  return estimateRuns([...planned.flat(), ...judged], options)
}

type AskedAnswers = Asked & Pick<AnswerOptions, 'columns' | 'judge'>

/** Lists what the judge will be asked about an answer. Until the answer is known, only the expectation is. */
function planJudgements(
  { run }: PlannedRun,
  { expect }: AnswerTest,
  { judge, model }: { readonly judge: LanguageModel; readonly model: string },
  { store }: EstimateOptions,
): readonly Pick<PlannedRun, 'job' | 'run'>[] {
  const questions = listQuestions(run?.text ?? '', expect).map(each => toJudgement(each, judge))
  return run === undefined ? questions.map(job => ({ job })) : planRuns(questions, { model }, store).flat()
}
