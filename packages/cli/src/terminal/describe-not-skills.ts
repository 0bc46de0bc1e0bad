import { isMisnamed } from '@skillstoke/core/internal'
import type { NotSkill } from '@skillstoke/core/source'
import { toCommandLine } from './command-line.ts'
import { paint, toAdvice, toTerminalText } from './output.ts'

const MAX_NAMES = 10

/**
 * Describes files and folders that are not skills in one line, likely mistakes first. Returns `undefined` for an empty
 * list.
 */
export function describeNotSkills(
  expected: readonly NotSkill[],
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
  const why = toAdvice(`stoke why ${toCommandLine([first.location])}`, options)
  return `${counted}: ${shown} ${paint('dim', `(${why})`)}`
}
