import type { Diagnostic } from './diagnostic.ts'
import type { FrontmatterFields } from './frontmatter.ts'
import { findHiddenText } from './hidden-text.ts'

/**
 * Finds what the values of fields hide by an escape of YAML, such as `\u200B`: the file shows the escape, and readers of the skill get
 * the character. What the file has as it is, is found when it is looked through as a whole.
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
      message: `${JSON.stringify(key)} has ${hidden.shown} by an escape: characters that show nothing`,
      line: firstLine + Math.max(0, line),
      column: 1,
      fix: 'delete them: a person does not see them, and a model reads them',
    })
  }
  return found
}
