import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { addTest, type NewTest } from '@skillstoke/author'
import { TESTS_FILE } from '@skillstoke/author/internal'
import { type Skill, SkillError, type SkillRuntime } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { readIfThere } from '../config/read-text.ts'
import { isInRoot } from '../skills/open-skills.ts'

/**
 * Writes a message of a conversation into the tests of a skill. Returns the path of the file.
 * @throws {SkillError} READ_ONLY when the folder of the skill belongs to somebody else; INVALID_OPTION when the file cannot take the
 * test
 */
export function writeTest(skill: Skill, test: NewTest, skills: SkillRuntime): string {
  const { name, directory } = skill
  if (directory === undefined || !isInRoot(skill, skills))
    throw new SkillError(
      'READ_ONLY',
      `the folder of ${quote(name)} is in none of your roots, so no test is written there`,
    )
  const path = join(directory, TESTS_FILE)
  // A link could lead out of the folder.
  if (
    [dirname(path), path].some(each => lstatSync(each, { throwIfNoEntry: false })?.isSymbolicLink() === true)
  )
    throw new SkillError('OUTSIDE_ROOT', `${path} is a link, so no test is written there`)
  const added = addTest(readIfThere(path, `${path} cannot be read`) ?? '', test)
  if (!added.ok) throw new SkillError('INVALID_OPTION', `${path}: ${added.fault.message}; ${added.fault.fix}`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, added.text)
  return path
}
