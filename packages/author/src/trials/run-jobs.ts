import type { SkillAgent } from '@skillstoke/agent'
import { mapConcurrently } from '@skillstoke/core/internal'
import { runTrial, type TrialRun } from './trial.ts'
import type { TrialStore } from './trial-store.ts'

/** One message to send to a model. */
export interface TrialJob {
  readonly agent: SkillAgent
  readonly message: string
  /** Identifies everything that the answer depends on. A job with a known key is not sent again. */
  readonly key: string
  readonly endsWithLoad: boolean
}

/** Price of a model, in dollars for a million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
}

/** What a run may spend. */
export interface TrialCap {
  /** Largest number of model calls. @default unlimited */
  readonly maxCalls?: number
  /** Largest amount in dollars. Needs a price. @default unlimited */
  readonly maxCost?: number
  readonly price?: TokenPrice
}

export interface JobOptions extends TrialCap {
  readonly store: TrialStore
  readonly signal: AbortSignal
  /** How many conversations run at the same time. @default 8 */
  readonly concurrency?: number
  /** Called after each run of a model, and at the start. */
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void
}

/** What was spent, and why the run ended early. */
export interface JobReport {
  /** The runs, in the order of the jobs. A job that was not sent has no run. */
  readonly runs: readonly (TrialRun | undefined)[]
  /** Number of jobs that were known before. */
  readonly known: number
  readonly spent: Spent
  readonly stopped?: 'calls' | 'cost' | 'aborted' | 'failed'
  /** Why a model call failed. */
  readonly error?: unknown
}

export interface Spent {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In dollars. Absent without a price. */
  readonly cost?: number
}

const CONCURRENCY = 8

/** Sends each job whose key is unknown. Keeps each run at once, so that an interrupted run loses nothing. */
export async function runJobs(jobs: readonly TrialJob[], options: JobOptions): Promise<JobReport> {
  const { store, signal, concurrency = CONCURRENCY, onProgress, price } = options
  const runs = jobs.map(({ key }) => store.findRun(key))
  const wanted = jobs.flatMap((job, index) => (runs[index] === undefined ? { job, index } : []))
  const fresh: TrialRun[] = []
  let stopped: JobReport['stopped']
  let error: unknown
  let running = 0
  const tell = (): void => onProgress?.({ done: fresh.length, of: wanted.length })
  tell()
  const work = async ({ job, index }: (typeof wanted)[number]): Promise<void> => {
    stopped ??= signal.aborted ? 'aborted' : findExcess(sumUp(fresh, price), running, options)
    if (stopped !== undefined) return
    running++
    try {
      const run = await runTrial(job.agent, job.message, { endsWithLoad: job.endsWithLoad, signal })
      store.keepRun(job.key, run)
      runs[index] = run
      fresh.push(run)
      tell()
    } catch (thrown) {
      stopped ??= signal.aborted ? 'aborted' : 'failed'
      if (stopped === 'failed') error ??= thrown
    } finally {
      running--
    }
  }
  await mapConcurrently(wanted, work, concurrency, new AbortController().signal)
  return {
    runs,
    known: jobs.length - wanted.length,
    spent: sumUp(fresh, price),
    ...(stopped === undefined ? {} : { stopped }),
    ...(error === undefined ? {} : { error }),
  }
}

/** Returns the cap that one more conversation could exceed. Each running conversation makes one call at least. */
function findExcess(
  { calls, cost = 0 }: Spent,
  running: number,
  { maxCalls, maxCost }: TrialCap,
): 'calls' | 'cost' | undefined {
  if (maxCalls !== undefined && calls + running >= maxCalls) return 'calls'
  return maxCost !== undefined && cost >= maxCost ? 'cost' : undefined
}

function sumUp(runs: readonly TrialRun[], price: TokenPrice | undefined): Spent {
  const sum = (key: 'calls' | 'inputTokens' | 'outputTokens'): number =>
    runs.reduce((total, run) => total + run[key], 0)
  const tokens = { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') }
  return { calls: sum('calls'), ...tokens, ...(price === undefined ? {} : { cost: toCost(tokens, price) }) }
}

/** Returns the price of tokens in dollars. */
export function toCost(
  { inputTokens, outputTokens }: Pick<Spent, 'inputTokens' | 'outputTokens'>,
  { input, output }: TokenPrice,
): number {
  return (inputTokens * input + outputTokens * output) / 1_000_000
}
