import { parseFrontmatter, splitSkillText } from './frontmatter.ts'
import { decodeAnyText } from './text.ts'

/**
 * Returns all fields of a SKILL.md's frontmatter as YAML 1.2 reads them, or `undefined` when the frontmatter is not
 * valid YAML. Unlike this function, `parseSkill` repairs an invalid frontmatter. Use this function to copy the fields
 * verbatim.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { readFrontmatter } from '@skillstoke/core'
 *
 * const fields = readFrontmatter(await readFile('skills/support-pdf/SKILL.md'))
 * console.log(fields?.['description']) // prints Does what support-pdf does. Use it for all about support-pdf.
 * ```
 */
export function readFrontmatter(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const split = splitSkillText(decodeAnyText(bytes))
  if (!split.ok) return undefined
  const fields = parseFrontmatter(split.value.frontmatter, split.value.frontmatterLine)
  if (!fields.ok || fields.diagnostics.some(({ code }) => code === 'YAML_REPAIRED')) return undefined
  return Object.fromEntries(fields.value)
}
