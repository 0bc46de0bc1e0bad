import { parseFrontmatter, splitSkillText } from './frontmatter.ts'
import { decodeAnyText } from './text.ts'

/**
 * The frontmatter of a SKILL.md with every field as YAML 1.2 gives it, or `undefined` when it is not valid YAML as it
 * stands. `parseSkill` serves more than that; this is for those who have to repeat the fields verbatim.
 */
export function readFrontmatter(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const split = splitSkillText(decodeAnyText(bytes))
  if (!split.ok) return undefined
  const fields = parseFrontmatter(split.value.frontmatter, split.value.frontmatterLine)
  // A diagnostic means that the text was repaired before it could be read.
  if (!fields.ok || fields.diagnostics.length > 0) return undefined
  return Object.fromEntries(fields.value)
}
