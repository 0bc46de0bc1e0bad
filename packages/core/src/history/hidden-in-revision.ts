import { SkillError } from '../errors.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { type Diagnostic, describePlace } from '../skill/diagnostic.ts'
import { describeHiddenFile, describeHiddenName } from '../skill/hidden-text.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { Skill } from '../skill/skill.ts'

const MAX_SHOWN = 10

/**
 * Finds what a person who reads a revision does not see: in the names and the text of all of its files, whatever their size.
 * @throws {SkillError} what `readFile` throws when the bytes of a file are lost: what cannot be looked at is not approved
 */
export async function findHiddenIn(
  skill: Skill,
  reader: Pick<SkillReader, 'readFile'>,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = []
  for (const { path } of skill.files) {
    found.push(...describeHiddenName(path).map(each => ({ ...each, path })))
    const bytes = await reader.readFile(skill, path)
    // Of the instructions more is known than their bytes tell: what the values of fields have by escapes.
    const own =
      path === skill.skillFile ? parseSkill(bytes, { path }).diagnostics : describeHiddenFile(path, bytes)
    found.push(...own.filter(({ code }) => code === 'HIDDEN_TEXT'))
  }
  return found
}

/** @throws {SkillError} HIDDEN_TEXT with every place, when there is any */
export function refuseHidden(name: string, hidden: readonly Diagnostic[]): void {
  if (hidden.length === 0) return
  const shown = hidden.slice(0, MAX_SHOWN).map(each => `${describePlace(each)}: ${each.message}`)
  const rest = hidden.length - shown.length
  const more = rest > 0 ? `; and ${rest} more` : ''
  throw new SkillError(
    'HIDDEN_TEXT',
    `${JSON.stringify(name)} has text that nobody sees, at ${shown.join('; ')}${more}; look at it and confirm it, or reject it`,
    { data: { places: hidden } },
  )
}
