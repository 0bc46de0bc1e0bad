import type { CheckedSkill } from './checked-skill.ts'
import type { FindingCode } from './finding-table.ts'

/** A comment that silences a code: `<!-- stoke-ignore CODE: reason -->`. */
export interface IgnoreComment {
  readonly code: string
  readonly line: number
  readonly column: number
}

const COMMENT = /<!--\s*stoke-ignore\s+([A-Z][A-Z_]+)\s*(?::[^>]*)?-->/g

/** Codes that no comment silences, because the comment may be part of an attack. */
const ALWAYS_SHOWN = /^(?:HIDDEN_TEXT|SECRET_.*|IGNORE_UNUSED)$/

/** Lists the comments that silence findings. A comment inside a code block is an example. */
export function findIgnoreComments(skill: CheckedSkill): readonly IgnoreComment[] {
  return skill.markdown.lines
    .filter(({ kind, text }) => kind === 'text' && text.includes('stoke-ignore'))
    .flatMap(({ text, number }) =>
      [...text.matchAll(COMMENT)].map(match => ({
        code: match[1] ?? '',
        line: number,
        column: match.index + 1,
      })),
    )
}

export function mayBeIgnored(code: FindingCode, severity: string): boolean {
  return severity !== 'error' && !ALWAYS_SHOWN.test(code)
}

/**
 * Whether a comment silences a finding. A comment silences the line below it and its own line. In the first lines of the body, it
 * silences the whole file.
 */
export function isSilenced(line: number | undefined, comment: IgnoreComment, skill: CheckedSkill): boolean {
  if (line === comment.line || line === comment.line + 1) return true
  const above = skill.markdown.lines.filter(each => each.number < comment.line)
  return above.every(({ text }) => /^\s*(?:<!--.*-->)?\s*$/.test(text))
}
