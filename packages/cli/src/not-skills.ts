import { basename } from 'node:path'
import type { SkillRuntime } from '@skillstoke/core'
import { isNearlySkillFile } from '@skillstoke/core/internal'
import type { NotSkill, NotSkills } from '@skillstoke/core/source'
import { type Paint, toAdvice, toTerminalText } from './output.ts'

const MAX_NAMES = 10

/**
 * Lists the files and folders in the sources that are not skills. Folders in `.trash` are not reported as mistakes,
 * because no person expects them to be skills.
 */
export async function findNotSkills(skills: SkillRuntime): Promise<NotSkills> {
  const { found, isComplete } = await skills.findNotSkills()
  const isTrash = ({ location }: NotSkill): boolean => location.split('/').includes('.trash')
  return { found: found.map(each => (isTrash(each) ? { ...each, isExpected: false } : each)), isComplete }
}

/** Whether a file or folder looks like a skill whose SKILL.md has the wrong name. */
export function isMisnamed({ reason, path }: Pick<NotSkill, 'reason' | 'path'>): boolean {
  return reason === 'misnamed' || (reason === 'file' && isNearlySkillFile(basename(path)))
}

/**
 * Describes files and folders that are not skills in one line, likely mistakes first. Returns `undefined` for an empty
 * list.
 */
export function describeNotSkills(
  expected: readonly NotSkill[],
  paint: Paint,
  options: readonly string[],
): string | undefined {
  const found = expected.toSorted((a, b) => Number(isMisnamed(b)) - Number(isMisnamed(a)))
  const [first] = found
  if (first === undefined) return undefined
  const names = found.slice(0, MAX_NAMES).map(each => toTerminalText(each.location))
  const rest = found.length - names.length
  const shown = `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  const files = found.filter(({ reason }) => reason === 'file').length
  const [one, many] =
    files === 0 ? ['folder', 'folders'] : files === found.length ? ['file', 'files'] : ['entry', 'entries']
  const counted = found.length === 1 ? `1 ${one} is not a skill` : `${found.length} ${many} are not skills`
  return `${counted}: ${shown} ${paint('dim', `(${toAdvice('stoke why NAME', options)})`)}`
}
