import { expect, test } from 'vitest'
import type { SkillFile } from './manifest.ts'
import { differsOnlyInTests, isTestFile } from './test-files.ts'

const file = (path: string, digit: string, isExecutable = false): SkillFile => ({
  path,
  digest: `sha256:${digit.repeat(64)}`,
  size: 1,
  isExecutable,
})

test('isTestFile() accepts only files of the folder evals', () => {
  expect(isTestFile({ path: 'evals/tests.yaml' })).toBe(true)
  expect(isTestFile({ path: 'evals/files/a.pdf' })).toBe(true)
  expect(isTestFile({ path: 'evals' })).toBe(false)
  expect(isTestFile({ path: 'references/evals/a.md' })).toBe(false)
})

test('differsOnlyInTests() is false for any other file, and for a mode', () => {
  const before = { files: [file('SKILL.md', 'a'), file('evals/tests.yaml', 'b'), file('scripts/a.sh', 'c')] }
  const [skill, , script] = before.files as [SkillFile, SkillFile, SkillFile]
  expect(differsOnlyInTests(before, before)).toBe(true)
  expect(differsOnlyInTests(before, { files: [skill, script] })).toBe(true)
  expect(differsOnlyInTests(before, { files: [skill, file('evals/tests.yaml', 'd'), script] })).toBe(true)
  expect(differsOnlyInTests(before, { files: [file('SKILL.md', 'd'), script] })).toBe(false)
  expect(differsOnlyInTests(before, { files: [skill, file('scripts/a.sh', 'c', true)] })).toBe(false)
})
