import { setTimeout as sleep } from 'node:timers/promises'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, type KnownOptions, Listeners } from '@skillstoke/core/internal'
import type { FeedState } from './feed-state.ts'
import { warn } from './host-warning.ts'
import type { PublishOptions, PublishReport } from './publish-options.ts'
import { listAwaited } from './publishable.ts'
import type { SkillPublisher } from './skill-publisher.ts'

export interface LivePublisherOptions extends Pick<PublishOptions, 'channel' | 'isMirror' | 'note'> {
  /** Called after each attempt that changed something or refused a folder. */
  readonly onReport?: (report: PublishReport) => void
  /**
   * Called after a failed attempt. The next attempt follows by itself. Without this function, and if a callback throws,
   * Node prints a warning.
   */
  readonly onError?: (error: unknown, retryMs: number) => void
}

const KNOWN: KnownOptions<LivePublisherOptions> = {
  channel: true,
  isMirror: true,
  note: true,
  onReport: true,
  onError: true,
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 20_000

/**
 * Publishes every change of a runtime: a folder that is being edited, or a git source on each commit. What was
 * published is the state of the runtime, so after the loss of a cluster a new one has it as soon as it has an epoch. With
 * `isMirror`, this also fills the channel, so that agents change over, and nothing is removed until all sources of the
 * runtime were read. Files that a rollback or a removal took back stay so, also after later versions.
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { git } from '@skillstoke/sources'
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
  readonly #options: Pick<PublishOptions, 'channel' | 'isMirror' | 'note'>
  readonly #reports = new Listeners<[report: PublishReport]>(warn)
  readonly #failures = new Listeners<[error: unknown, retryMs: number]>(warn)
  readonly #unsubscribe: readonly (() => void)[]
  readonly #abort = new AbortController()
  #isDirty = false
  #running: Promise<void> | undefined
  /** The epoch of the fleet that was filled. */
  #epoch: string | undefined
  /** Ends the pause after a failure. */
  #waking = new AbortController()

  /** @throws {SkillError} INVALID_OPTION */
  constructor(publisher: SkillPublisher, runtime: SkillRuntime, options: LivePublisherOptions = {}) {
    checkOptions('LivePublisher', options, KNOWN)
    this.#publisher = publisher
    this.#runtime = runtime
    const { onReport, onError = warn, ...publishing } = options
    this.#options = publishing
    if (onReport !== undefined) this.#reports.subscribe(onReport)
    this.#failures.subscribe(onError)
    this.#unsubscribe = [
      runtime.subscribe(() => this.#start()),
      publisher.connection.feed.onNews(() => void this.#checkEpoch()),
      publisher.connection.feed.onRecovery(() => this.#waking.abort()),
    ]
    this.#start()
  }

  /** Resolves when the newest generation is published. While the servers are away, it does not resolve. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Ends after the attempt that is running. Idempotent. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#abort.abort(new SkillError('CLOSED', 'the publisher is closed'))
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #start(): void {
    this.#isDirty = true
    if (this.#abort.signal.aborted) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      if (this.#isDirty) this.#start() // the runtime changed after the last attempt
    })
  }

  /** Publishes everything again if the fleet has begun a new epoch. */
  async #checkEpoch(): Promise<void> {
    const { feed } = this.#publisher.connection
    try {
      await feed.settle()
    } catch {
      return // the feed reports news again when the servers answer
    }
    if (this.#epoch !== undefined && nameEpoch(feed.state) !== this.#epoch) this.#start()
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    const { isMirror, ...options } = this.#options
    const { feed } = this.#publisher.connection
    let retryMs = FIRST_RETRY_MS
    while (this.#isDirty && !signal.aborted) {
      this.#isDirty = false
      let report: PublishReport
      try {
        await feed.reload()
        this.#epoch = nameEpoch(feed.state)
        report = await this.#publisher.publish(this.#runtime, {
          ...options,
          isMirror: isMirror === true && listAwaited(this.#runtime).length === 0,
          signal,
        })
      } catch (thrown) {
        if (signal.aborted) return
        this.#isDirty = true
        this.#failures.tell(thrown, retryMs)
        this.#waking = new AbortController()
        const waking = AbortSignal.any([signal, this.#waking.signal])
        await sleep(retryMs, undefined, { signal: waking }).catch(() => undefined)
        retryMs = this.#waking.signal.aborted ? FIRST_RETRY_MS : Math.min(LAST_RETRY_MS, retryMs * 2)
        continue
      }
      retryMs = FIRST_RETRY_MS
      const isIdle = report.skills.every(({ outcome }) => outcome === 'unchanged')
      if (!isIdle || report.refused.length > 0) this.#reports.tell(report)
    }
  }
}

function nameEpoch({ epoch }: FeedState): string {
  return `${epoch?.document.id} ${epoch?.document.epoch}`
}
