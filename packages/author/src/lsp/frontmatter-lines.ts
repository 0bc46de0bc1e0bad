import { cutField, defined, splitEntries } from '@skillstoke/core/internal'
import type { TextDocument } from 'vscode-languageserver-textdocument'

/** A line of the frontmatter, and the field to which it belongs. */
export interface FrontmatterLine {
  /** Absent above the first field. */
  readonly field?: string
  /** The names of all fields. */
  readonly fields: readonly string[]
}

const DELIMITER = /^---[ \t]*$/
/** Returns what is known about a line if it lies between the two delimiters. The text may be incomplete. */
export function findFrontmatterLine(document: TextDocument, line: number): FrontmatterLine | undefined {
  const lines = document.getText().split(/\r?\n/)
  const close = lines.findIndex((text, index) => index > 0 && DELIMITER.test(text))
  const end = close < 0 ? lines.length : close
  if (!DELIMITER.test(lines[0] ?? '') || line < 1 || line >= end) return undefined
  const entries = splitEntries(lines.slice(1, end), { path: '', line: 1 }, cutField)
  const fields = entries.map(({ key }) => key)
  // The value of a field may continue on the next lines.
  return { fields, ...defined({ field: entries.findLast(each => each.line <= line)?.key }) }
}
