import { describeConflict } from './conflict-markers.ts'
import type { Diagnostic } from './diagnostic.ts'
import { decodeSkillText } from './encoding.ts'
import type { Outcome, SplitSkillText } from './frontmatter.ts'
import { describeHiddenText } from './hidden-text.ts'
import type { SkillLimits } from './limits.ts'
import { findExcessBytes } from './text.ts'

/** The steps in which the readers of a SKILL.md differ. */
export interface SkillTextReader<Value> {
  readonly limits: Pick<SkillLimits, 'maxSkillFileBytes' | 'maxFrontmatterBytes'>
  split(text: string): Outcome<SplitSkillText>
  /** Reads a split text. The result contains no findings of `split`. */
  read(parts: SplitSkillText): Outcome<Value>
}

/**
 * Reads the bytes of a SKILL.md. Checks the sizes, the encoding and unresolved conflicts before `read`, and reports hidden
 * text.
 */
export function readSkillText<Value>(bytes: Uint8Array, reader: SkillTextReader<Value>): Outcome<Value> {
  const { maxSkillFileBytes } = reader.limits
  if (bytes.length > maxSkillFileBytes) {
    return stop(
      'SKILL_FILE_TOO_LARGE',
      `SKILL.md has ${bytes.length} bytes; at most ${maxSkillFileBytes} are read`,
      'move long material into files under references/',
    )
  }
  const text = decodeSkillText(bytes)
  if (typeof text !== 'string') return { ok: false, diagnostics: [text] }
  const conflict = describeConflict(text, 'error')
  if (conflict !== undefined) return { ok: false, diagnostics: [conflict] }
  const outcome = readParts(text, reader)
  const hidden = describeHiddenText(text)
  return hidden.length === 0 ? outcome : { ...outcome, diagnostics: [...outcome.diagnostics, ...hidden] }
}

function readParts<Value>(text: string, reader: SkillTextReader<Value>): Outcome<Value> {
  const split = reader.split(text)
  if (!split.ok) return split
  const { maxFrontmatterBytes } = reader.limits
  const excess = findExcessBytes(split.value.frontmatter, maxFrontmatterBytes)
  if (excess !== undefined) {
    return stop(
      'FRONTMATTER_TOO_LARGE',
      `the frontmatter has ${excess} bytes; at most ${maxFrontmatterBytes} are read`,
      'keep name, description and a few fields; move the rest into the body',
    )
  }
  const outcome = reader.read(split.value)
  return split.diagnostics.length === 0
    ? outcome
    : { ...outcome, diagnostics: [...split.diagnostics, ...outcome.diagnostics] }
}

function stop(code: Diagnostic['code'], message: string, fix: string): Outcome<never> {
  return { ok: false, diagnostics: [{ code, severity: 'error', message, line: 1, column: 1, fix }] }
}
