import { SkillError, toMessage } from '../errors.ts'
import { type Clock, type Logger, untilAborted } from '../host.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'

/** The reason for a scan of the sources. */
export type ScanReason = 'start' | 'reload' | 'request'

export interface PreScanContext {
  readonly reason: ScanReason
  /** This signal is aborted when the hook times out or the runtime is closed. */
  readonly signal: AbortSignal
}

/**
 * A function that prepares the folders of the sources, for example copies built-in skills or downloads folders.
 *
 * @example
 * ```ts
 * import { cp } from 'node:fs/promises'
 * import { createSkillRuntime, type PreScanHook } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const copySkills: PreScanHook = async () => await cp('./skills', './copied', { recursive: true })
 * await using skills = await createSkillRuntime({ sources: [directory('./copied')], preScan: copySkills })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'support-pdf' ]
 * ```
 */
export type PreScanHook = (context: PreScanContext) => void | Promise<void>

export interface PreScanOptions {
  readonly hook: PreScanHook
  /**
   * Timeout after which the scan continues without the hook, in milliseconds; `Infinity` for no timeout.
   * @default 30,000
   */
  readonly timeoutMs?: number
  /**
   * How a failure of the hook is handled. `warn`: the failure is logged and the scan continues. `throw`: the scan
   * fails.
   * @default 'warn'
   */
  readonly onError?: (typeof PRE_SCAN_FAILURES)[number]
}

const PRE_SCAN_FAILURES = ['warn', 'throw'] as const
const KNOWN: KnownOptions<PreScanOptions> = {
  hook: true,
  timeoutMs: number(1),
  onError: oneOf(PRE_SCAN_FAILURES),
}

export const DEFAULT_PRE_SCAN_TIMEOUT_MS = 30_000

/** Runs the hook before scans. Two runs of the hook never overlap. A scan waits until the hook ends or times out. */
export class PreScan {
  readonly #options: Required<PreScanOptions>
  readonly #clock: Clock
  readonly #logger: Logger
  /** The current run of the hook. Scans wait until this run ends or times out. */
  #flight: Promise<void> | undefined
  #abort: AbortController | undefined
  /** Whether the hook is still running. The hook may run longer than its timeout. */
  #isBusy = false

  constructor(options: PreScanHook | PreScanOptions, clock: Clock, logger: Logger) {
    const given = typeof options === 'function' ? { hook: options } : options
    if (typeof given?.hook !== 'function')
      throw new SkillError('INVALID_OPTION', `preScan is ${typeof options}; use a function, or { hook }`)
    checkOptions('createSkillRuntime()', given, KNOWN, { path: 'preScan' })
    this.#options = { timeoutMs: DEFAULT_PRE_SCAN_TIMEOUT_MS, onError: 'warn', ...given }
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Resolves when the hook has finished or timed out. A failure or timeout of the hook is only logged, unless `onError`
   * is `throw`.
   * @throws {SkillError} HOOK_FAILED when `onError` is `throw`
   */
  async run(reason: ScanReason): Promise<void> {
    if (this.#flight === undefined && this.#isBusy) {
      this.#logger.warn('the pre-scan hook is still running; the scan continues without it', { reason })
      return
    }
    this.#flight ??= this.#start(reason).finally(() => (this.#flight = undefined))
    try {
      await this.#flight
    } catch (thrown) {
      if (this.#options.onError === 'throw') {
        throw new SkillError('HOOK_FAILED', `the pre-scan hook failed: ${toMessage(thrown)}`, {
          cause: thrown,
        })
      }
      this.#logger.warn('the pre-scan hook failed; the scan continues', { reason, error: thrown })
    }
  }

  /** Aborts a running hook. */
  close(): void {
    this.#abort?.abort(new SkillError('CLOSED', 'the runtime is closed'))
  }

  async #start(reason: ScanReason): Promise<void> {
    const { hook, timeoutMs } = this.#options
    const abort = new AbortController()
    this.#abort = abort
    const { signal } = abort
    const cancel = this.#clock.after(timeoutMs, () =>
      abort.abort(new SkillError('HOOK_FAILED', `it took longer than ${timeoutMs} ms`)),
    )
    this.#isBusy = true
    const work = (async () => {
      try {
        await hook({ reason, signal })
      } finally {
        this.#isBusy = false
      }
    })()
    await untilAborted(signal, work).finally(cancel)
  }
}
