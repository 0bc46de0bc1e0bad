import type { Clock } from '../host.ts'
import type { DirectoryNode, ScanPass } from './mirror.ts'
import type { UnwatchedFolders } from './mirror-scanner.ts'
import { hasSilentFiles } from './shared-files.ts'
import type { SourceState } from './skill-source.ts'

/** The values of `WatchingMode`. */
export const WATCHING_MODES = ['auto', 'polling', 'off'] as const

/** How a source is followed: by events where they can be had, by sweeps, or only when it is asked. */
export type WatchingMode = (typeof WATCHING_MODES)[number]

export interface EventTrustOptions {
  readonly watching: WatchingMode
  readonly reconcileMs: number
  readonly pollMs: number
  readonly clock: Clock
  /** Whether the file system can report changes at all. */
  readonly canWatch: boolean
  /** Why changes below the root cannot be reported, if so. */
  readonly findFault: () => string | undefined
  /** The folders that have no watch, if any. */
  readonly findUnwatched: () => UnwatchedFolders | undefined
}

// The kernel's queue holds 16,384 events; one that delivers this many at once may have dropped others.
const OVERFLOW_EVENTS = 4_000
const DISTRUST_MS = 300_000
/** How much less often everything is swept where sweeps never find anything. */
const RAREST_SWEEP = 4

/** Whether a sweep found a change that no event announced, although one should have. */
export function hasUnannounced(pass: ScanPass, isAnnounced: (node: DirectoryNode) => boolean): boolean {
  const isExpected = (node: DirectoryNode | undefined): boolean =>
    node !== undefined && (isAnnounced(node) || pass.created.has(node) || node.isLink)
  for (const node of pass.changed)
    if (!isExpected(node) && !isExpected(node.parent) && !hasSilentFiles(node)) return true
  return false
}

/** Knows how far the events of a source can be relied on, and so how often everything has to be swept. */
export class EventTrust {
  readonly #options: EventTrustOptions
  #fault: string | undefined
  #distrustUntil = Number.NEGATIVE_INFINITY
  #eventsAtOnce = 0
  /** How often sweeps are due, in multiples of `reconcileMs`. */
  #patience = 1
  #judgedAt = Number.NEGATIVE_INFINITY

  constructor(options: EventTrustOptions) {
    this.#options = options
  }

  /** Whether events are used, fully or for a part. */
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
      reason: `${what} looked at every ${pollMs} ms and on request: ${reason}`,
      sweepMs: reconcileMs,
      unwatched: count,
    }
  }

  /** Counts an event; returns whether so many came at once that others may have been lost. */
  noteEvent(): boolean {
    if (this.#eventsAtOnce++ === 0) this.#options.clock.after(0, () => (this.#eventsAtOnce = 0))
    return this.#eventsAtOnce === OVERFLOW_EVENTS
  }

  /** A watch that worked broke. */
  noteFault(message: string): void {
    this.#patience = 1
    this.#fault = message
  }

  /** A sweep sets all watches again and finds out whether the fault is still there. */
  forgetFault(): void {
    this.#fault = undefined
  }

  /** A sweep found what no event had told. */
  noteUnannounced(): void {
    this.#patience = 1
    this.#distrustUntil = this.#options.clock.monotonic() + DISTRUST_MS
  }

  /** A sweep found only what events had told: the next one may come later, up to a limit. */
  noteAnnounced(): void {
    const { clock, reconcileMs } = this.#options
    const now = clock.monotonic()
    // Sweeps in a row that somebody asked for prove no more than one of them.
    if (now - this.#judgedAt < (reconcileMs * this.#patience) / 2) return
    this.#judgedAt = now
    this.#patience = Math.min(RAREST_SWEEP, this.#patience * 2)
  }
}
