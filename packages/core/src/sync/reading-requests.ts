import type { Settle, SettleWait } from '../source/settle.ts'
import { SOURCE_READ_DEPTHS, type SourceReadDepth, type SourceWatch } from '../source/skill-source.ts'

/** What a caller wants from a scan. */
export interface ReadingDemand {
  readonly depth: SourceReadDepth
  /** @default the whole source */
  readonly location?: string | undefined
  /** @default false */
  readonly isAsked?: boolean
}

/** A request that one or more callers share. */
export interface ReadingRequest extends SettleWait {
  readonly depth: SourceReadDepth
  /** Whether a caller asked for a scan of the whole source. */
  readonly isAsked: boolean
  readonly promise: Promise<void>
  readonly resolve: () => void
}

/**
 * The requests that still wait for a scan. A scan answers a request if the scan began after the request, and if the
 * scan published all areas that got a hint before the request.
 */
export class ReadingRequests {
  readonly #settle: Settle
  readonly #waiting = new Map<string, ReadingRequest>()
  #readings = 0

  constructor(settle: Settle) {
    this.#settle = settle
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /**
   * Adds a request for the whole source or for one location. Until a scan begins, callers with equal requests share
   * one request.
   */
  add({ depth, location, isAsked = false }: ReadingDemand, watch: SourceWatch | undefined): ReadingRequest {
    const { order } = this.#settle
    const key = JSON.stringify([this.#readings, depth, order, location, isAsked])
    const same = this.#waiting.get(key)
    if (same !== undefined) return same
    const { promise, resolve } = Promise.withResolvers<void>()
    const request: ReadingRequest = {
      depth,
      isAsked,
      order,
      since: this.#settle.moment,
      isWhole: watch?.concerns === undefined,
      concerns: area => location === undefined || watch?.concerns?.(area, location) !== false,
      promise,
      resolve,
    }
    this.#waiting.set(key, request)
    return request
  }

  /** Milliseconds until a scan can begin. */
  remainingMs(): number {
    let ms = this.#settle.isOpen ? this.#settle.remainingMs() : Number.POSITIVE_INFINITY
    for (const request of this.#waiting.values()) {
      if (ms <= 0) return 0
      ms = Math.min(ms, this.#settle.remainingMs(request))
    }
    return Math.max(0, ms)
  }

  /** Returns the requests that a scan could answer if it began now. */
  due(): readonly ReadingRequest[] {
    return this.list().filter(request => this.#settle.remainingMs(request) <= 0)
  }

  /** Begins a scan. Returns the requests that this scan may answer. Later requests wait for the next scan. */
  begin(): readonly ReadingRequest[] {
    this.#readings++
    return this.list()
  }

  list(): readonly ReadingRequest[] {
    return [...this.#waiting.values()]
  }

  /** Resolves those requests in `before` that the finished scan has answered. */
  answer(before: readonly ReadingRequest[], depth: SourceReadDepth): void {
    this.end(before.filter(request => !isDeeper(request.depth, depth) && !this.#settle.isAwaited(request)))
  }

  /** Resolves the given requests, by default all requests, even if no scan has answered them. */
  end(requests: readonly ReadingRequest[] = this.list()): void {
    const isEnded = new Set(requests)
    for (const [key, request] of this.#waiting) {
      if (!isEnded.has(request)) continue
      this.#waiting.delete(key)
      request.resolve()
    }
  }
}

/** Returns the scan depth that satisfies all given requests. */
export function deepest(requests: readonly ReadingRequest[]): SourceReadDepth {
  return requests.reduce<SourceReadDepth>(
    (depth, request) => (isDeeper(request.depth, depth) ? request.depth : depth),
    'hinted',
  )
}

function isDeeper(a: SourceReadDepth, b: SourceReadDepth): boolean {
  return SOURCE_READ_DEPTHS.indexOf(a) > SOURCE_READ_DEPTHS.indexOf(b)
}
