import type { TokenCounter } from '@skillstoke/core'
import type { SkillTests } from '../evals/skill-tests.ts'
import { type AnswerColumn, JUDGE_PROMPT, listAnswerJobs } from './answer-trials.ts'
import { type Asked, estimateJobs, type JobOptions, type TrialEstimate, type TrialJob } from './run-jobs.ts'
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
  asked: AskedModel | (Asked & { readonly columns: readonly AnswerColumn[] }),
  options: Pick<JobOptions, 'store' | 'price'> & { readonly countTokens: TokenCounter },
): TrialEstimate {
  const jobs = 'columns' in asked ? listJudgedJobs(tests, asked.columns) : listTriggerJobs(tests, asked)
  return estimateJobs(jobs, asked, options)
}

/** Lists the jobs for the answers, each followed by the questions to the judge. */
function listJudgedJobs(tests: SkillTests, columns: readonly AnswerColumn[]): readonly TrialJob[] {
  return tests.answers.flatMap(test => {
    const judged = test.expect.flatMap(each => (each.kind === 'judge' ? [[JUDGE_PROMPT, each.text]] : []))
    const own = listAnswerJobs({ ...tests, answers: [test] }, columns)
    // The judgement of a known answer is known, too.
    return own.flatMap(job => [job, ...judged.map(texts => ({ ...job, texts }))])
  })
}
