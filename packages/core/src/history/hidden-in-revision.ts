import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { type Diagnostic, describePlace } from '../skill/diagnostic.ts'
import { describeHiddenName, describeUnreadableFile } from '../skill/hidden-text.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import { mayRun } from '../skill/program-file.ts'
import type { Skill } from '../skill/skill.ts'
import { describeTextFile } from '../skill/text-file.ts'

const MAX_SHOWN = 10

/**
 * Finds what a person cannot see in a revision: invisible characters in the names and contents of its files, even in
 * large files, and scripts that are not text.
 * @throws {SkillError} the error of `readFile` when a file cannot be read, because an unreadable revision must not be approved
 */
export async function findHiddenIn(
  skill: Skill,
  reader: Pick<SkillReader, 'readFile'>,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = []
  for (const { path, isExecutable } of skill.files) {
    found.push(...describeHiddenName(path).map(each => ({ ...each, path })))
    const bytes = await reader.readFile(skill, path)
    // Parse the skill file, because only the parser finds invisible characters that are written as YAML escapes.
    const own =
      path === skill.skillFile ? parseSkill(bytes, { path }).diagnostics : describeTextFile(path, bytes)
    found.push(...own.filter(({ code }) => code === 'HIDDEN_TEXT'))
    const unreadable = mayRun(path, isExecutable, bytes) ? describeUnreadableFile(path, bytes) : undefined
    if (unreadable !== undefined) found.push(unreadable)
  }
  return found
}

/** @throws {SkillError} HIDDEN_TEXT with all places, if the list `hidden` is not empty */
export function refuseHidden(name: string, hidden: readonly Diagnostic[]): void {
  if (hidden.length === 0) return
  const shown = hidden.slice(0, MAX_SHOWN).map(each => `${describePlace(each)}: ${each.message}`)
  const rest = hidden.length - shown.length
  const more = rest > 0 ? `; and ${rest} more` : ''
  throw new SkillError(
    'HIDDEN_TEXT',
    `${quote(name)} has hidden text at ${shown.join('; ')}${more}; review it, then confirm or reject it`,
    { data: { places: hidden } },
  )
}
