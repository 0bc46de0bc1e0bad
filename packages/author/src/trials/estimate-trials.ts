import type { TokenCounter } from '@skillstoke/core'
import type { SkillTests } from '../evals/skill-tests.ts'
import { type TokenPrice, toCost } from './run-jobs.ts'
import type { TrialStore } from './trial-store.ts'
import { type AskedModel, planTriggerTrials, readCatalog } from './trigger-trials.ts'

/** What the trials of a skill will take. */
export interface TrialEstimate {
  /** Messages that will be sent, and messages whose answer is known. */
  readonly calls: number
  readonly known: number
  readonly inputTokens: number
  /** In dollars. Absent without a price. */
  readonly cost?: number
}

/** Tokens of an answer. A trigger case ends with the first tool call. */
const ANSWER_TOKENS = 60
/** Tokens of the definitions of the tools. */
const TOOL_TOKENS = 400

/**
 * Estimates what `runTriggerTrials()` will ask, before anything is spent.
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
  asked: AskedModel,
  { store, countTokens, price }: EstimateSetting,
): TrialEstimate {
  const jobs = planTriggerTrials(tests, asked)
  const wanted = jobs.filter(({ key }) => store.findRun(key) === undefined)
  const shared = countTokens(readCatalog(asked.agent)) + TOOL_TOKENS
  const inputTokens = wanted.reduce((sum, { message }) => sum + shared + countTokens(message), 0)
  const outputTokens = wanted.length * ANSWER_TOKENS
  return {
    calls: wanted.length,
    known: jobs.length - wanted.length,
    inputTokens,
    ...(price === undefined ? {} : { cost: toCost({ inputTokens, outputTokens }, price) }),
  }
}

interface EstimateSetting {
  readonly store: TrialStore
  readonly countTokens: TokenCounter
  readonly price?: TokenPrice
}
