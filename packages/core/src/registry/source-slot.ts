import { binarySearch } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { EMPTY_CONTENTS, type SourceContents } from '../skill/source-contents.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { Candidate } from './candidate.ts'
import type { SourceReport } from './generation.ts'
import type { LastGoodSource } from './last-good.ts'

/** The data that the registry needs about a source. */
export interface RegisteredSource extends LastGoodSource {
  readonly trust: SourceTrust
}

/** A source, and the decisions about its folders. */
export interface SourceSlot extends RegisteredSource {
  readonly index: number
  contents: SourceContents
  /** Sorted like `contents.entries`. The array is replaced instead of modified, so generations can refer to it. */
  candidates: readonly Candidate[]
  /** Why the last scan failed. */
  fault: Diagnostic | undefined
  /** Why the latest contents cannot be stored. */
  storeFault: Diagnostic | undefined
  /** True if the source was never shown before; undefined until its first contents arrive. */
  isFirst: boolean | undefined
  /** The contents about which the registry is deciding, or about which it decided last. */
  next: SourceContents
  isPresent(location: string): boolean
}

export function createSlot({ label, origin, trust, reading }: RegisteredSource, index: number): SourceSlot {
  return {
    ...{ label, origin, trust, reading, index },
    contents: EMPTY_CONTENTS,
    candidates: [],
    fault: undefined,
    storeFault: undefined,
    isFirst: undefined,
    next: EMPTY_CONTENTS,
    isPresent(location) {
      return indexOfLocation(this.next, location) >= 0
    },
  }
}

export function indexOfLocation({ entries }: SourceContents, location: string): number {
  return binarySearch(entries, location, entry => entry.location)
}

/** Returns the findings about a source. After repeated failures of a source, only the latest fault is shown. */
export function toSourceReport({ label, contents, fault, storeFault }: SourceSlot): SourceReport {
  const faults = [fault, storeFault].filter(each => each !== undefined)
  return {
    label,
    diagnostics: [...contents.diagnostics.filter(({ code }) => code !== fault?.code), ...faults],
  }
}
