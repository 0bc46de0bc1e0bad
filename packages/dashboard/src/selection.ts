import { keyOfRow, type SkillRow } from 'skillstoke/client'
import { go, route } from './route.ts'
import { selectedPlace, visibleRows } from './store.ts'

/** Selects the next or the previous visible row, and switches the page to the list. */
export function selectNext(step: 1 | -1): void {
  const rows = visibleRows.value
  if (rows.length === 0) return
  const index = rows.findIndex(row => keyOfRow(row) === selectedPlace.value)
  const next = index < 0 ? (step > 0 ? 0 : rows.length - 1) : index + step
  const row = rows[Math.min(Math.max(next, 0), rows.length - 1)]
  if (row === undefined) return
  selectedPlace.value = keyOfRow(row)
  if (route.value.view !== 'skills') go({ view: 'skills' })
  else if (route.value.name !== undefined) go({ view: 'skills', name: row.name })
}

/** Selects the first or the last visible row. */
export function selectEnd(end: 'first' | 'last'): void {
  const row = visibleRows.value.at(end === 'first' ? 0 : -1)
  if (row !== undefined) selectedPlace.value = keyOfRow(row)
}

export function openRow(row: SkillRow): void {
  selectedPlace.value = keyOfRow(row)
  go({ view: 'skills', name: row.name })
}
