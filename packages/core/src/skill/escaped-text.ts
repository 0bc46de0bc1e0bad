import { quote } from '../quote.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { FrontmatterFields } from './frontmatter.ts'
import { findHiddenText } from './hidden-text.ts'

/**
 * Finds invisible characters that field values contain as YAML escapes such as `\u200B`. The file shows only the
 * escape, but readers of the skill get the character. The scan of the whole file finds invisible characters that are
 * not escaped.
 */
export function describeEscapedText(
  fields: FrontmatterFields,
  yaml: string,
  firstLine: number,
): Diagnostic[] {
  const found: Diagnostic[] = []
  if (!yaml.includes('\\')) return found
  for (const [key, value] of fields) {
    if (typeof value !== 'string' && typeof value !== 'object') continue
    const text = `${key}:${typeof value === 'string' ? value : JSON.stringify(value)}`
    const hidden = findHiddenText(text).find(
      ({ index, length }) => !yaml.includes(text.slice(index, index + length)),
    )
    if (hidden === undefined) continue
    const line = yaml.split('\n').findIndex(each => each.trimStart().startsWith(key))
    found.push({
      code: 'HIDDEN_TEXT',
      severity: 'warning',
      message: `${quote(key)} contains the invisible characters ${hidden.shown} as an escape`,
      line: firstLine + Math.max(0, line),
      column: 1,
      fix: 'delete them; a person cannot see them, but a model reads them',
    })
  }
  return found
}
