import type { Clock } from '../host.ts'
import type { DirectoryNode, ScanPass } from './mirror.ts'
import type { UnwatchedFolders } from './mirror-scanner.ts'
import { hasSilentFiles } from './shared-files.ts'
import type { SourceState } from './skill-source.ts'

/** The values of `WatchingMode`. */
export const WATCHING_MODES = ['auto', 'polling', 'off'] as const

/**
 * How a source detects changes: `auto` uses events where possible, `polling` uses sweeps, and `off` reads only on
 * request.
 */
export type WatchingMode = (typeof WATCHING_MODES)[number]

export interface EventTrustOptions {
  readonly watching: WatchingMode
  readonly reconcileMs: number
  readonly pollMs: number
  readonly clock: Clock
  /** Whether the file system has a way to report changes. */
  readonly canWatch: boolean
  /**
   * Returns the reason why the file system cannot report changes below the root. Returns `undefined` if the file system
   * can report them.
   */
  readonly findFault: () => string | undefined
  /** Returns the folders without a watch, if any. */
  readonly findUnwatched: () => UnwatchedFolders | undefined
}

// The kernel queues at most 16,384 events. If thousands of events come together, the kernel may have dropped other
// events.
const OVERFLOW_EVENTS = 4_000
const DISTRUST_MS = 300_000
/** The largest factor by which the sweep interval grows while sweeps find no unannounced changes. */
const RAREST_SWEEP = 4

/** Whether a sweep found a change that no event announced. */
export function hasUnannounced(pass: ScanPass, isAnnounced: (node: DirectoryNode) => boolean): boolean {
  const isExpected = (node: DirectoryNode | undefined): boolean =>
    node !== undefined && (isAnnounced(node) || pass.created.has(node) || node.isLink)
  for (const node of pass.changed)
    if (!isExpected(node) && !isExpected(node.parent) && !hasSilentFiles(node)) return true
  return false
}

/** Judges how reliable the events of a source are, and derives the interval of complete sweeps. */
export class EventTrust {
  readonly #options: EventTrustOptions
  #fault: string | undefined
  #distrustUntil = Number.NEGATIVE_INFINITY
  #eventsAtOnce = 0
  /** The interval of sweeps, in multiples of `reconcileMs`. */
  #patience = 1
  #judgedAt = Number.NEGATIVE_INFINITY

  constructor(options: EventTrustOptions) {
    this.#options = options
  }

  /** Whether the source uses events, at least for some folders. */
  get usesEvents(): boolean {
    const { watching, canWatch, findFault } = this.#options
    return watching === 'auto' && canWatch && findFault() === undefined
  }

  state(): SourceState {
    const { watching, pollMs, reconcileMs, clock, findFault } = this.#options
    if (watching === 'off') return { mode: 'manual', reason: 'watching is off' }
    if (!this.usesEvents) {
      const why = watching === 'polling' ? 'polling was asked for' : findFault()
      return { mode: 'polling', reason: why ?? 'the file system reports no changes', sweepMs: pollMs }
    }
    if (this.#fault !== undefined) return { mode: 'degraded', reason: this.#fault, sweepMs: pollMs }
    if (clock.monotonic() < this.#distrustUntil) {
      return { mode: 'degraded', reason: 'a change was found that no event announced', sweepMs: pollMs }
    }
    const unwatched = this.#options.findUnwatched()
    if (unwatched === undefined) return { mode: 'events', sweepMs: reconcileMs * this.#patience }
    const { count, reason } = unwatched
    const what = count === 1 ? 'a folder is' : `${count} folders are`
    return {
      mode: 'degraded',
      reason: `${what} checked every ${pollMs} ms and on request: ${reason}`,
      sweepMs: reconcileMs,
      unwatched: count,
    }
  }

  /** Counts an event. Returns true if so many events came together that the kernel may have dropped others. */
  noteEvent(): boolean {
    if (this.#eventsAtOnce++ === 0) this.#options.clock.after(0, () => (this.#eventsAtOnce = 0))
    return this.#eventsAtOnce === OVERFLOW_EVENTS
  }

  /** Notes that a working watch broke. */
  noteFault(message: string): void {
    this.#patience = 1
    this.#fault = message
  }

  /**
   * Forgets a fault of the watches before a sweep. The sweep sets all watches again, and reports the fault if it
   * persists.
   */
  forgetFault(): void {
    this.#fault = undefined
  }

  /** Notes that a sweep found a change that no event announced. */
  noteUnannounced(): void {
    this.#patience = 1
    this.#distrustUntil = this.#options.clock.monotonic() + DISTRUST_MS
  }

  /** Notes that a sweep found only announced changes. The interval of sweeps then grows, up to a limit. */
  noteAnnounced(): void {
    const { clock, reconcileMs } = this.#options
    const now = clock.monotonic()
    // If requests start several sweeps in quick succession, the sweeps count as one sweep, because almost no time
    // passes between them.
    if (now - this.#judgedAt < (reconcileMs * this.#patience) / 2) return
    this.#judgedAt = now
    this.#patience = Math.min(RAREST_SWEEP, this.#patience * 2)
  }
}
