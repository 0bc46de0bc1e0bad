import { editDistance } from '../edit-distance.ts'
import { quote } from '../quote.ts'
import { compareText } from './compare.ts'
import { foldText } from './text.ts'

const MAX_SUGGESTIONS = 3
const MAX_SHOWN = 20

/**
 * Returns names that the caller may have meant: names that differ by a few typing errors, or that contain the typed
 * text. Best first.
 */
export function findNearNames(wanted: string, names: readonly string[]): string[] {
  const query = foldText(wanted)
  if (query === '') return []
  const most = query.length <= 4 ? 1 : 2
  const candidates: { name: string; distance: number }[] = []
  for (const name of names) {
    const distance = editDistance(query, foldText(name), most)
    if (distance <= most) candidates.push({ name, distance })
    else if (query.length >= 3 && (name.includes(query) || query.includes(name)))
      candidates.push({ name, distance: most + 1 })
  }
  return candidates
    .sort((a, b) => a.distance - b.distance || compareText(a.name, b.name))
    .slice(0, MAX_SUGGESTIONS)
    .map(candidate => candidate.name)
}

/** Returns the end of a message about an unknown name; empty if no name is similar. */
export function suggest(wanted: string, names: readonly string[]): string {
  const near = findNearNames(wanted, names).map(each => quote(each))
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
}

/**
 * Returns the message for an unknown skill name. The message lists similar names. If no name is similar, the message
 * lists some of the available names.
 */
export function describeUnknownSkill(name: string, available: readonly string[]): string {
  const near = findNearNames(name, available).map(each => quote(each))
  const meant = near.length === 0 ? '' : `did you mean ${near.join(' or ')}? `
  const shown =
    available.length === 0 ? 'there are no skills' : `available: ${available.slice(0, MAX_SHOWN).join(', ')}`
  return `there is no skill ${quote(name)}; ${meant}${shown}`
}
