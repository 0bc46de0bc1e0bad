import { isDeepStrictEqual } from 'node:util'
import type { SkillRow } from '@skillstoke/core/internal'
import { keyOfRow } from '../client/row-key.ts'

export interface RowsDifference {
  readonly changed: readonly SkillRow[]
  readonly gone: readonly SkillRow[]
}

/** Keeps the rows that readers received last, in order to find the rows that have changed since then. */
export class SkillRows {
  #rows: readonly SkillRow[] = []
  #byPlace: ReadonlyMap<string, SkillRow> = new Map()

  list(): readonly SkillRow[] {
    return this.#rows
  }

  /** Replaces the rows. An unchanged row stays the same object. */
  replace(rows: readonly SkillRow[]): RowsDifference {
    const before = this.#byPlace
    const changed: SkillRow[] = []
    const byPlace = new Map<string, SkillRow>()
    this.#rows = rows.map(row => {
      const place = keyOfRow(row)
      const known = before.get(place)
      const kept = known !== undefined && isDeepStrictEqual(known, row) ? known : row
      if (kept === row) changed.push(row)
      byPlace.set(place, kept)
      return kept
    })
    this.#byPlace = byPlace
    return { changed, gone: [...before].flatMap(([place, row]) => (byPlace.has(place) ? [] : row)) }
  }
}
