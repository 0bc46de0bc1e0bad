import { setTimeout as sleep } from 'node:timers/promises'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
import type { PublishOptions, PublishReport, SkillPublisher } from './skill-publisher.ts'

export interface LivePublisherOptions
  extends Pick<PublishOptions, 'channel' | 'isMirror' | 'isStaged' | 'note'> {
  /** Called after each attempt that changed something or refused a folder. */
  readonly onReport?: (report: PublishReport) => void
  /** Called after a failed attempt. The next attempt follows by itself. */
  readonly onError?: (error: unknown, retryMs: number) => void
}

const KNOWN: KnownOptions<LivePublisherOptions> = {
  channel: true,
  isMirror: true,
  isStaged: true,
  note: true,
  onReport: true,
  onError: true,
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 30_000

/**
 * Publishes every change of a runtime: a folder while somebody edits it, or a git source on each commit. What was
 * published is the state of the runtime, so after the loss of a cluster a new one is filled by itself. A skill that was
 * rolled back in the fleet stays so until it changes again.
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { git } from '@skillstoke/core/node'
 * import { FleetConnection, LivePublisher, SkillPublisher } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * await using runtime = await createSkillRuntime({ sources: [git('acme/skills', { trust: 'auto', pollMs: 10_000 })] })
 * await using live = new LivePublisher(new SkillPublisher(fleet), runtime, { isMirror: true })
 * await live.settled()
 * ```
 */
export class LivePublisher implements AsyncDisposable {
  readonly #publisher: SkillPublisher
  readonly #runtime: SkillRuntime
  readonly #options: LivePublisherOptions
  readonly #unsubscribe: () => void
  readonly #abort = new AbortController()
  #isDirty = false
  #running: Promise<void> | undefined

  /** @throws {SkillError} INVALID_OPTION */
  constructor(publisher: SkillPublisher, runtime: SkillRuntime, options: LivePublisherOptions = {}) {
    checkOptions('LivePublisher', options, KNOWN)
    this.#publisher = publisher
    this.#runtime = runtime
    this.#options = options
    this.#unsubscribe = runtime.subscribe(() => this.#start())
    this.#start()
  }

  /** Resolves when the newest generation is published. While the servers are away, it does not resolve. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Ends after the attempt that is running. Idempotent. */
  async close(): Promise<void> {
    this.#unsubscribe()
    this.#abort.abort(new SkillError('CLOSED', 'the publisher is closed'))
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #start(): void {
    this.#isDirty = true
    if (!this.#abort.signal.aborted) this.#running ??= this.#run().finally(() => (this.#running = undefined))
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    const { onReport, onError, ...publish } = this.#options
    let retryMs = FIRST_RETRY_MS
    while (this.#isDirty && !signal.aborted) {
      this.#isDirty = false
      try {
        const report = await this.#publisher.publish(this.#runtime, {
          ...publish,
          keepsRollbacks: true,
          signal,
        })
        retryMs = FIRST_RETRY_MS
        const isIdle = report.skills.every(({ outcome }) => outcome === 'unchanged')
        if (!isIdle || report.refused.length > 0) onReport?.(report)
      } catch (thrown) {
        if (signal.aborted) return
        this.#isDirty = true
        onError?.(thrown, retryMs)
        await sleep(retryMs, undefined, { signal }).catch(() => undefined)
        retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
      }
    }
  }
}
