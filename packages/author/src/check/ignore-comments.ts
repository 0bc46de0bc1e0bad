import type { CheckedSkill } from './checked-skill.ts'
import type { FindingCode } from './finding-table.ts'

/** A comment that silences a code: `<!-- stoke-ignore CODE: reason -->`. */
export interface IgnoreComment {
  readonly code: string
  readonly line: number
  readonly column: number
}

const COMMENT = /<!--\s*stoke-ignore\s+([A-Z][A-Z_]+)\s*(?::[^>]{0,1000})?-->/g
/** More comments than an author writes. */
const MAX_COMMENTS = 100

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
    .slice(0, MAX_COMMENTS)
}

/** Returns the number of the first line of the body that is neither blank nor a comment. */
export function findFirstText({ markdown: { lines } }: CheckedSkill): number {
  const first = lines.find(({ text }) => !/^(?:<!--.{0,400}-->)?$/.test(text.trim()))
  return first?.number ?? Number.POSITIVE_INFINITY
}

export function mayBeIgnored(code: FindingCode, severity: string): boolean {
  return severity !== 'error' && !ALWAYS_SHOWN.test(code)
}

/**
 * Whether a comment silences a finding. A comment silences the line below it and its own line. Above the first text of the body, it
 * silences the whole skill.
 */
export function isSilenced(line: number | undefined, comment: IgnoreComment, firstText: number): boolean {
  return line === comment.line || line === comment.line + 1 || comment.line < firstText
}
