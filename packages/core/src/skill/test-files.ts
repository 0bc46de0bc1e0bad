import { diffFiles } from './diff-skills.ts'
import type { Skill } from './skill.ts'

const TESTS_FOLDER = 'evals/'

/**
 * Whether a file of a skill belongs to its tests. Tests are part of the revision, so an approval covers them. No model
 * gets a list of them, and no conversation is told when they change.
 */
export function isTestFile({ path }: { readonly path: string }): boolean {
  return path.startsWith(TESTS_FOLDER)
}

/** Whether two revisions of a skill differ in their tests only. */
export function differsOnlyInTests(before: Pick<Skill, 'files'>, after: Pick<Skill, 'files'>): boolean {
  return diffFiles(before.files, after.files).every(isTestFile)
}
