import { checkOptions, type KnownOptions } from '../options.ts'
import { describeEscapedText } from './escaped-text.ts'
import { type Outcome, parseFrontmatter, splitAnyText, splitServedText } from './frontmatter.ts'
import { DEFAULT_LIMITS, type SkillLimits } from './limits.ts'
import { readSkillText } from './read-skill-text.ts'
import { DEFAULT_READING, type ReadingPolicy } from './reading-policy.ts'
import { type ParsedSkill, SkillFields } from './skill-fields.ts'

export interface ParseSkillOptions {
  /**
   * Name of the skill's folder. The folder name replaces a missing name. If the frontmatter has a different name, a
   * finding reports the difference.
   */
  readonly directoryName?: string
  /** Path of the file, for diagnostics. */
  readonly path?: string
  readonly limits?: SkillLimits
  readonly policy?: Partial<ReadingPolicy>
}

const KNOWN: KnownOptions<ParseSkillOptions> = { directoryName: true, path: true, limits: true, policy: true }

/**
 * Parses the bytes of a SKILL.md tolerantly. Each tolerated fault becomes a warning with line, reason and fix. Returns
 * no skill for bytes that are not UTF-8, an unresolved merge conflict, a size beyond the limits, an unreadable frontmatter, a missing description,
 * an unsafe name, or a fault that `policy` does not tolerate. The sizes are checked before the text is parsed.
 *
 * @example
 * ```ts
 * import { parseSkill } from '@skillstoke/core'
 *
 * const bytes = new TextEncoder().encode('---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n')
 * const parsed = parseSkill(bytes, { directoryName: 'greet' })
 * if (parsed.ok) console.log(parsed.value.name, parsed.value.body) // prints greet Say hello.
 * ```
 */
export function parseSkill(bytes: Uint8Array, options: ParseSkillOptions = {}): Outcome<ParsedSkill> {
  checkOptions('parseSkill()', options, KNOWN)
  const policy = { ...DEFAULT_READING, ...options.policy }
  const outcome = readSkillText(bytes, {
    limits: options.limits ?? DEFAULT_LIMITS,
    split: text => {
      // An empty file is never a skill: editors leave files empty for a moment while they write.
      const isStrict = policy.description === 'required' || text.trim() === ''
      return isStrict ? splitServedText(text) : splitAnyText(text)
    },
    read: ({ frontmatter, frontmatterLine: firstLine, body, bodyLine }) => {
      const fields = parseFrontmatter(frontmatter, firstLine)
      if (!fields.ok) return fields
      const found = [...fields.diagnostics, ...describeEscapedText(fields.value, frontmatter, firstLine)]
      const reader = new SkillFields(fields.value, { yaml: frontmatter, firstLine, policy }, found)
      return reader.read(body, bodyLine, options.directoryName)
    },
  })
  const { path } = options
  if (path === undefined) return outcome
  return { ...outcome, diagnostics: outcome.diagnostics.map(diagnostic => ({ path, ...diagnostic })) }
}
