import { readFileSync } from 'node:fs'
import { CHECKS } from '@skillstoke/author'
import { expect, test } from 'vitest'
import { renderChecksPage } from '../scripts/checks-page.ts'

const page = readFileSync('docs/checks.md', 'utf8')

test('docs/checks.md matches the table of the checks (if this fails: npm run checks-page)', () => {
  expect(page).toBe(renderChecksPage())
})

test('docs/checks.md has a heading for each check, and a row for each code of the checks and of the core', () => {
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(Object.keys(CHECKS))
  const rows = [...page.matchAll(/^\| \[?`([A-Z_]+)`/gm)].map(([, code]) => code)
  const core = [...readFileSync('docs/diagnostics.md', 'utf8').matchAll(/^\| `([A-Z_]+)`/gm)]
  expect(rows).toEqual([...headings, ...core.map(([, code]) => code)])
  expect(core.length).toBeGreaterThan(50)
})
