import { checkOptions, type KnownOptions } from '../options.ts'
import { describeConflict } from './conflict-markers.ts'
import type { Diagnostic } from './diagnostic.ts'
import { decodeSkillText } from './encoding.ts'
import { describeEscapedText } from './escaped-text.ts'
import { type Outcome, parseFrontmatter, splitAnyText, splitServedText } from './frontmatter.ts'
import { describeHiddenText } from './hidden-text.ts'
import { DEFAULT_LIMITS, type SkillLimits } from './limits.ts'
import { DEFAULT_READING, type ReadingPolicy } from './reading-policy.ts'
import { type ParsedSkill, SkillFields } from './skill-fields.ts'
import { findExcessBytes } from './text.ts'

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
  const limits = options.limits ?? DEFAULT_LIMITS
  const outcome = parseBytes(bytes, options, limits)
  const { path } = options
  if (path === undefined) return outcome
  return { ...outcome, diagnostics: outcome.diagnostics.map(diagnostic => ({ path, ...diagnostic })) }
}

function parseBytes(
  bytes: Uint8Array,
  options: ParseSkillOptions,
  limits: SkillLimits,
): Outcome<ParsedSkill> {
  if (bytes.length > limits.maxSkillFileBytes) {
    return stop(
      'SKILL_FILE_TOO_LARGE',
      `SKILL.md has ${bytes.length} bytes; at most ${limits.maxSkillFileBytes} are read`,
      'move long material into files under references/',
    )
  }
  const text = decodeSkillText(bytes)
  if (typeof text !== 'string') return { ok: false, diagnostics: [text] }
  const conflict = describeConflict(text, 'error')
  if (conflict !== undefined) return { ok: false, diagnostics: [conflict] }
  const outcome = parseText(text, options, limits)
  const hidden = describeHiddenText(text)
  return hidden.length === 0 ? outcome : { ...outcome, diagnostics: [...outcome.diagnostics, ...hidden] }
}

function parseText(text: string, options: ParseSkillOptions, limits: SkillLimits): Outcome<ParsedSkill> {
  const policy = { ...DEFAULT_READING, ...options.policy }
  // An empty file is never a skill: editors leave files empty for a moment while they write.
  const isStrict = policy.description === 'required' || text.trim() === ''
  const split = isStrict ? splitServedText(text) : splitAnyText(text)
  if (!split.ok) return split
  const { frontmatter, frontmatterLine } = split.value
  const excess = findExcessBytes(frontmatter, limits.maxFrontmatterBytes)
  if (excess !== undefined) {
    return stop(
      'FRONTMATTER_TOO_LARGE',
      `the frontmatter has ${excess} bytes; at most ${limits.maxFrontmatterBytes} are read`,
      'keep name, description and a few fields; move the rest into the body',
    )
  }
  const fields = parseFrontmatter(frontmatter, frontmatterLine)
  const diagnostics = [...split.diagnostics, ...fields.diagnostics]
  if (!fields.ok) return { ok: false, diagnostics }
  diagnostics.push(...describeEscapedText(fields.value, frontmatter, frontmatterLine))
  const reader = new SkillFields(
    fields.value,
    { yaml: frontmatter, firstLine: frontmatterLine, policy },
    diagnostics,
  )
  return reader.read(split.value.body, split.value.bodyLine, options.directoryName)
}

function stop(code: Diagnostic['code'], message: string, fix: string): Outcome<never> {
  return { ok: false, diagnostics: [{ code, severity: 'error', message, line: 1, column: 1, fix }] }
}
