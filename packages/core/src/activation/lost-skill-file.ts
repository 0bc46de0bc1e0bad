import { escapeText } from '../catalog/escape.ts'
import type { Skill } from '../skill/skill.ts'

/**
 * Returns a note for a model about a skill whose SKILL.md is missing for the moment, so that the model knows which
 * revision it reads. Returns `undefined` for every other skill.
 */
export function noteLostFile({ diagnostics }: Pick<Skill, 'diagnostics'>): string | undefined {
  const lost = diagnostics.find(({ code }) => code === 'SKILL_FILE_MISSING')
  return lost === undefined ? undefined : `Note: ${escapeText(lost.message)}.`
}
