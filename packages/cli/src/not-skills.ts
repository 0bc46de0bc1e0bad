import type { NotSkill } from '@skillstoke/core'
import { type Paint, toTerminalText } from './output.ts'

const MAX_NAMES = 3

/** Counts what a person may have meant as a skill, in one line; `undefined` if there is nothing of the kind. */
export function describeNotSkills(found: readonly NotSkill[], paint: Paint): string | undefined {
  const [first] = found
  if (first === undefined) return undefined
  const names = found.slice(0, MAX_NAMES).map(each => toTerminalText(each.location))
  const rest = found.length - names.length
  const shown = `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  const files = found.filter(({ reason }) => reason === 'file').length
  const [one, many] =
    files === 0 ? ['folder', 'folders'] : files === found.length ? ['file', 'files'] : ['entry', 'entries']
  const counted = found.length === 1 ? `1 ${one} is not a skill` : `${found.length} ${many} are not skills`
  return `${counted}: ${shown} ${paint('dim', '(stoke why NAME)')}`
}
