import type { TextDocument } from 'vscode-languageserver-textdocument'

/** A line of the frontmatter, and the field to which it belongs. */
export interface FrontmatterLine {
  /** Absent above the first field. */
  readonly field?: string
  /** The names of all fields. */
  readonly fields: readonly string[]
}

const DELIMITER = /^---[ \t]*$/
const FIELD = /^([A-Za-z][\w-]*)[ \t]*:/

/** Returns what is known about a line if it lies between the two delimiters. The text may be incomplete. */
export function findFrontmatterLine(document: TextDocument, line: number): FrontmatterLine | undefined {
  const lines = document.getText().split(/\r?\n/)
  const close = lines.findIndex((text, index) => index > 0 && DELIMITER.test(text))
  const end = close < 0 ? lines.length : close
  if (!DELIMITER.test(lines[0] ?? '') || line < 1 || line >= end) return undefined
  const toField = (text: string): string | undefined => FIELD.exec(text)?.[1]
  const fields = lines.slice(1, end).flatMap(text => toField(text) ?? [])
  // The value of a field may continue on indented lines.
  const start = lines.slice(0, line + 1).findLast(text => /^\S/.test(text)) ?? ''
  const field = toField(start)
  return { fields, ...(field === undefined ? {} : { field }) }
}
