import type { Clock, Logger } from '../host.ts'
import { callSafely } from '../listeners.ts'
import type { ScriptCall, ScriptEvents } from './script-events.ts'
import type { ScriptRunner, ScriptRunOptions } from './script-runner.ts'

export interface ObservedCallsOptions {
  readonly runner: ScriptRunner | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Called with each event, in the order in which the events happen. */
  readonly tell: <Name extends keyof ScriptEvents>(name: Name, payload: ScriptEvents[Name]) => void
}

/** Emits events while scripts run, and warns if they run without a sandbox. */
export class ObservedCalls {
  readonly #options: ObservedCallsOptions
  #count = 0
  #notedDetail: string | undefined

  constructor(options: ObservedCallsOptions) {
    this.#options = options
  }

  /** Runs a call, and emits events for its start, progress, output lines and end. */
  async observe<Result>(
    target: Omit<ScriptCall, 'call'>,
    options: ScriptRunOptions,
    work: (options: ScriptRunOptions) => Promise<Result>,
  ): Promise<Result> {
    const { tell, clock, logger } = this.#options
    const onError = (error: unknown): void => logger.error('a subscriber failed', { error })
    const call = { call: ++this.#count, ...target }
    await this.#noteContainment()
    const start = clock.monotonic()
    const end = (isError: boolean): void =>
      tell('command:finished', { ...call, isError, durationMs: clock.monotonic() - start })
    tell('command:started', call)
    try {
      const result = await work({
        ...options,
        onProgress: progress => {
          tell('command:progress', { ...call, ...progress })
          callSafely(onError, () => options.onProgress?.(progress))
        },
        onLine: line => {
          tell('command:line', { ...call, ...line })
          callSafely(onError, () => options.onLine?.(line))
        },
      })
      end(false)
      return result
    } catch (thrown) {
      end(true)
      throw thrown
    }
  }

  /** Warns once for each reason why scripts run without a sandbox. */
  async #noteContainment(): Promise<void> {
    const { runner, logger } = this.#options
    const containment = await runner?.containment()
    if (containment === undefined || containment.kind === 'sandbox') return
    const { detail } = containment
    if (detail === this.#notedDetail) return
    this.#notedDetail = detail
    logger.warn('scripts run without a sandbox', { reason: detail })
  }
}
