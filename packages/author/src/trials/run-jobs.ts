import type { SkillAgent } from '@skillstoke/agent'
import {
  checkOptions,
  digestOf,
  type KnownOptions,
  mapConcurrently,
  number,
  whole,
} from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { runTrial, type TrialRun } from './trial.ts'
import type { TrialStore } from './trial-store.ts'

/** One message to send to a model. */
export interface TrialJob {
  readonly agent: SkillAgent
  readonly message: string
  /** Whether the turn ends with the first load of a skill. Scripts then never run. */
  readonly endsWithLoad: boolean
  /** What the model may read besides the message. It is part of the key. */
  readonly read: unknown
}

/** The model that is asked, and how often. */
export interface Asked {
  /** Name of the model, for the cache and for people. */
  readonly model: string
  /** How often each message is sent. @default 1 */
  readonly repeats?: number
}

/** Price of a model, in dollars for a million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
}

export interface JobOptions {
  /** Largest number of model calls. @default unlimited */
  readonly maxCalls?: number
  /** Largest amount in dollars. Needs a price. @default unlimited */
  readonly maxCost?: number
  readonly price?: TokenPrice
  readonly store: TrialStore
  readonly signal: AbortSignal
  /** How many conversations run at the same time. @default 8 */
  readonly concurrency?: number
  /** Called after each run of a model, and at the start. */
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void
}

/** What was spent, and why the run ended early. */
export interface JobReport {
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

const KNOWN: KnownOptions<JobOptions & Pick<Asked, 'repeats'>> = {
  ...{ store: true, signal: true, onProgress: true, price: true },
  ...{ concurrency: whole(1), maxCalls: whole(0), maxCost: number(0), repeats: whole(1) },
}

/** Lists the runs of jobs. The key identifies everything that an answer depends on, so a run with a known key is not asked. */
export function planRuns(
  jobs: readonly TrialJob[],
  { model, repeats = 1 }: Asked,
): readonly (TrialJob & { readonly key: string })[] {
  return jobs.flatMap(job =>
    Array.from({ length: repeats }, (_, repeat) => {
      const parts = [job.read, job.message, model, job.agent.options.call ?? {}, repeat]
      return { ...job, key: digestOf(JSON.stringify(parts), portableHasher) }
    }),
  )
}

/**
 * Sends each job whose runs are unknown. Keeps each run at once, so that an interrupted run loses nothing. Returns the runs of
 * each job.
 * @param caller the public function whose options these are
 */
export async function runJobs(
  caller: string,
  jobs: readonly TrialJob[],
  asked: Asked,
  options: JobOptions,
): Promise<{ readonly runs: readonly (readonly TrialRun[])[]; readonly report: JobReport }> {
  const { repeats = 1 } = asked
  checkOptions(caller, { ...options, repeats }, KNOWN)
  const { store, signal, concurrency = CONCURRENCY, onProgress, price } = options
  const planned = planRuns(jobs, asked)
  const runs = planned.map(({ key }) => store.findRun(key))
  const wanted = [...planned.entries()].filter(([index]) => runs[index] === undefined)
  const fresh: TrialRun[] = []
  let running = 0
  let end: Pick<JobReport, 'stopped' | 'error'> = {}
  const tell = (): void => onProgress?.({ done: fresh.length, of: wanted.length })
  tell()
  const work = async ([index, { key, ...job }]: (typeof wanted)[number]): Promise<void> => {
    if (end.stopped === undefined) end = findEnd(fresh, running, options)
    if (end.stopped !== undefined) return
    running++
    try {
      const run = await runTrial(job, signal)
      store.keepRun(key, run)
      runs[index] = run
      fresh.push(run)
      tell()
    } catch (error) {
      if (end.stopped === undefined)
        end = signal.aborted ? { stopped: 'aborted' } : { stopped: 'failed', error }
    } finally {
      running--
    }
  }
  await mapConcurrently(wanted, work, concurrency, new AbortController().signal)
  return {
    runs: jobs.map((_, index) =>
      runs.slice(index * repeats, (index + 1) * repeats).filter(run => run !== undefined),
    ),
    report: { known: planned.length - wanted.length, spent: sumUp(fresh, price), ...end },
  }
}

/** Says why no further job may be sent. Each running job takes at least one call. */
function findEnd(
  fresh: readonly TrialRun[],
  running: number,
  { signal, maxCalls = Infinity, maxCost = Infinity, price }: JobOptions,
): Pick<JobReport, 'stopped'> {
  const { calls, cost = 0 } = sumUp(fresh, price)
  if (signal.aborted) return { stopped: 'aborted' }
  if (calls + running >= maxCalls) return { stopped: 'calls' }
  return cost >= maxCost ? { stopped: 'cost' } : {}
}

/** Sums up the usage of calls, with its price in dollars if the price of a token is known. */
export function sumUp(
  runs: readonly Pick<TrialRun, 'calls' | 'inputTokens' | 'outputTokens'>[],
  price: TokenPrice | undefined,
): Spent {
  const sum = (key: 'calls' | 'inputTokens' | 'outputTokens'): number =>
    runs.reduce((total, run) => total + run[key], 0)
  const spent = { calls: sum('calls'), inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') }
  if (price === undefined) return spent
  return { ...spent, cost: (spent.inputTokens * price.input + spent.outputTokens * price.output) / 1_000_000 }
}
