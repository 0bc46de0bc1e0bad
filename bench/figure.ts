/** One measured figure, with the figures of its peers from the same run. */
export interface Figure {
  readonly id: string
  readonly what: string
  /** Number of skills in the tree, or number of samples if the benchmark has no tree. */
  readonly n: number
  readonly value: { readonly p50: number; readonly p99: number }
  readonly unit: 'ms' | 'µs' | 'ns' | 'B' | 'KB' | 'MB' | '%' | 'count'
  /** Target value of the design, in `unit`. */
  readonly target: string
  readonly peers: Readonly<Record<string, number | { readonly p50: number; readonly p99: number }>>
}

export interface MeasureOptions {
  /** Whether to measure large trees too, and to repeat measurements more often. */
  readonly large: boolean
}

export function percentiles(samples: readonly number[]): { p50: number; p99: number } {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: round(at(0.5)), p99: round(at(0.99)) }
}

export function round(value: number): number {
  return Number(value.toPrecision(3))
}
