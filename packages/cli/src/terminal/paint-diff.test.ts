import { expect, test } from 'vitest'
import { paintDiff } from './paint-diff.ts'

const filler = 'word '.repeat(30)
const PATCH = [
  '===================================================================',
  `--- pdf/SKILL.md\ta1`,
  `+++ pdf/SKILL.md\tb2`,
  '@@ -1,3 +1,3 @@',
  ' name: pdf',
  `-description: ${filler}Reads PDF files. ${filler}`,
  '-short',
  `+description: ${filler}Fills PDF files. ${filler}`,
  '+shorter',
  ' end',
].join('\n')

test('paintDiff() shows only the part of a long line that differs, in the width of a terminal', () => {
  expect(paintDiff(PATCH, 80).split('\n')).toEqual([
    ...PATCH.split('\n').slice(0, 5),
    '-…ord word word word word Reads PDF files. word word wo…',
    '-short',
    '+…ord word word word word Fills PDF files. word word wo…',
    '+shorter',
    ' end',
  ])
})

test('paintDiff() keeps every line whole if all lines fit, or the output is no terminal', () => {
  expect(paintDiff(PATCH, 1000)).toBe(PATCH)
  expect(paintDiff(PATCH)).toBe(PATCH)
})

test('paintDiff() keeps long lines whole that have no counterpart', () => {
  const patch = ` a\n-${filler}\n+one\n+two\n`
  expect(paintDiff(patch, 20)).toBe(patch)
})

test('paintDiff() is fast for many removed lines', () => {
  const patch = '-gone\n'.repeat(50_000)
  const start = performance.now()
  expect(paintDiff(patch, 80)).toBe(patch)
  expect(performance.now() - start).toBeLessThan(2_000)
})
