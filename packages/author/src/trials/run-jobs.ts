import type { TokenCounter } from '@skillstoke/core'
import { checkOptions, digestOf, type KnownOptions, number, whole } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { CapReached, type SpendingCaps, SpendingMeter, type Spent, withCost } from './spending-meter.ts'
import type { TrialRun } from './trial.ts'
import type { TrialStore } from './trial-store.ts'

/** One question to a model. */
export interface TrialJob {
  /** Everything that the answer depends on, except the model. */
  readonly key: unknown
  /** What the model reads first, for the estimate. */
  readonly texts: readonly string[]
  /** @throws {CapReached} when the meter allows no further call */
  run(meter: SpendingMeter, signal: AbortSignal): Promise<TrialRun>
}

/** The model that is asked, and how often. */
export interface Asked {
  /** Name of the model, for the cache and for people. */
  readonly model: string
  /** How often each message is sent. @default 1 */
  readonly repeats?: number
}

export interface JobOptions extends SpendingCaps {
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

/** What jobs will take, without a second call in one turn. */
export interface TrialEstimate {
  /** Calls that will be made, and jobs whose answer is known. */
  readonly calls: number
  readonly known: number
  readonly inputTokens: number
  /** In dollars. Absent without a price. */
  readonly cost?: number
}

export type EstimateOptions = Pick<JobOptions, 'store' | 'price'> & { readonly countTokens: TokenCounter }

const CONCURRENCY = 8
/** Tokens of an answer. A trigger case ends with the first tool call. */
const ANSWER_TOKENS = 60
/** Tokens of the definitions of the tools. */
const TOOL_TOKENS = 400

const KNOWN: KnownOptions<JobOptions & Pick<Asked, 'repeats'>> = {
  ...{ store: true, signal: true, onProgress: true, price: true },
  ...{ concurrency: whole(1), maxCalls: whole(0), maxCost: number(0), repeats: whole(1) },
}

/** @throws {SkillError} INVALID_OPTION */
export function checkJobOptions(
  caller: string,
  { repeats = 1 }: Pick<Asked, 'repeats'>,
  options: JobOptions,
): void {
  checkOptions(caller, { ...options, repeats }, KNOWN)
}

/** One run of a job. */
export interface PlannedRun {
  readonly job: TrialJob
  readonly key: string
  /** Absent until the job is sent. */
  run?: TrialRun | undefined
}

/** Lists the runs of each job, with what is known of them. Jobs with the same key share their runs. */
export function planRuns(
  jobs: readonly TrialJob[],
  { model, repeats = 1 }: Asked,
  store: TrialStore,
): readonly (readonly PlannedRun[])[] {
  const byKey = new Map<string, PlannedRun>()
  return jobs.map(job =>
    Array.from({ length: repeats }, (_, repeat) => {
      const key = digestOf(JSON.stringify([job.key, model, repeat]), portableHasher)
      const run = byKey.get(key) ?? { job, key, run: store.findRun(key) }
      byKey.set(key, run)
      return run
    }),
  )
}

/** Estimates what the unknown runs will take. */
export function estimateRuns(
  planned: readonly Pick<PlannedRun, 'job' | 'run'>[],
  { countTokens, price }: EstimateOptions,
): TrialEstimate {
  const all = new Set(planned)
  const wanted = [...all].filter(({ run }) => run === undefined)
  const texts = wanted.flatMap(({ job }) => job.texts)
  // Most jobs share the catalog.
  const counts = new Map([...new Set(texts)].map(text => [text, countTokens(text)]))
  const inputTokens = texts.reduce((sum, text) => sum + (counts.get(text) ?? 0), wanted.length * TOOL_TOKENS)
  const usage = { calls: wanted.length, inputTokens, outputTokens: wanted.length * ANSWER_TOKENS }
  const { outputTokens: _, ...spent } = withCost(usage, price)
  return { ...spent, known: all.size - wanted.length }
}

/**
 * Sends each job whose runs are unknown. Keeps each run at once, so that an interrupted run loses nothing. Returns the runs of
 * each job.
 * @param meter counts the calls of several stages together
 */
export async function runJobs(
  jobs: readonly TrialJob[],
  asked: Asked,
  options: JobOptions,
  meter: SpendingMeter = new SpendingMeter(options),
): Promise<{ readonly runs: readonly (readonly TrialRun[])[]; readonly report: JobReport }> {
  const { store, signal, concurrency = CONCURRENCY, onProgress } = options
  const planned = planRuns(jobs, asked, store)
  const all = new Set(planned.flat())
  const wanted = [...all].filter(({ run }) => run === undefined)
  let done = 0
  let end: Pick<JobReport, 'stopped' | 'error'> = {}
  const tell = (): void => onProgress?.({ done, of: wanted.length })
  const work = async (each: PlannedRun): Promise<void> => {
    if (end.stopped !== undefined || signal.aborted) return
    try {
      each.run = await each.job.run(meter, signal)
      store.keepRun(each.key, each.run)
      done++
      tell()
    } catch (error) {
      if (end.stopped === undefined) end = toEnd(error)
    }
  }
  const toEnd = (error: unknown): typeof end =>
    error instanceof CapReached ? { stopped: error.cap } : { stopped: 'failed', error }
  tell()
  const running = new Set<Promise<void>>()
  for (const each of wanted) {
    while (running.size >= (meter.isScarce(concurrency) ? 1 : concurrency)) await Promise.race(running)
    const job: Promise<void> = work(each).finally(() => running.delete(job))
    running.add(job)
  }
  await Promise.all(running)
  if (signal.aborted && done < wanted.length) end = { stopped: 'aborted' }
  return {
    runs: planned.map(own => own.flatMap(({ run }) => run ?? [])),
    report: { known: all.size - wanted.length, spent: meter.spent, ...end },
  }
}
