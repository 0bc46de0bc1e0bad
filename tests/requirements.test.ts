import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findCitations, renderRequirements } from './requirements/coverage.ts'
import { REQUIREMENTS } from './requirements/index.ts'
import type { Requirement } from './requirements/requirement.ts'

const rows: readonly Requirement[] = REQUIREMENTS
const citations = findCitations()
const cited = new Set<string>(citations.flatMap(({ ids }) => ids))

test('each design has the expected number of rows, and each row id is unique', () => {
  const ids = rows.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const count = (prefix: string, kind: string): number =>
    rows.filter(row => row.id.startsWith(prefix) && row.kind === kind).length
  expect(['EXO-', 'OMNI-', 'CRAB-', 'FOX-', 'PAI-'].map(prefix => count(prefix, 'described'))).toEqual([
    45, 28, 17, 22, 19,
  ])
  expect(['EXO-', 'OMNI-', 'CRAB-', 'FOX-', 'PAI-'].map(prefix => count(prefix, 'mistake'))).toEqual([
    13, 10, 7, 11, 6,
  ])
})

test('every row is proved by a test, or declined with a reason', () => {
  const open = rows.filter(({ id, declined }) => !cited.has(id) && declined === undefined)
  expect(open.map(({ id }) => id)).toEqual([])
})

test('only rows of the kind "beyond" are declined, and each page named in "declined" mentions the row', () => {
  for (const { id, kind, declined } of rows) {
    if (declined === undefined) continue
    expect(kind, id).toBe('beyond')
    expect(existsSync(declined), declined).toBe(true)
    expect(readFileSync(declined, 'utf8'), declined).toContain(id)
  }
})

test('tests/requirements/README.md matches the rows and tests (if this fails: npm run requirements)', () => {
  expect(readFileSync('tests/requirements/README.md', 'utf8')).toBe(renderRequirements(citations))
})
