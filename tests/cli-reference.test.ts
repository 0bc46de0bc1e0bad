import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderCliReference } from '../scripts/cli-reference.ts'

test('docs/cli-reference.md matches the program (if this fails: npm run cli-reference)', () => {
  expect(readFileSync('docs/cli-reference.md', 'utf8')).toBe(renderCliReference())
})
