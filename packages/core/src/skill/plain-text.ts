import { quote } from '../quote.ts'
import { type FrontmatterLine, indentOf, isBlank } from './frontmatter-lines.ts'

const BLOCK_HEADER = /^[|>][-+0-9]*[ \t]*(?:#.*)?$/

/**
 * Returns the text that a person would read from a value that is not valid YAML. Joins the lines with spaces, except in
 * a literal block. Removes the marks `|` and `>` that start a block, and the quotation marks around the whole text.
 */
export function foldText(inline: string, rest: readonly FrontmatterLine[]): string {
  if (inline.startsWith('|') && BLOCK_HEADER.test(inline)) return cutIndent(rest).join('\n').trim()
  const first = BLOCK_HEADER.test(inline) || inline.startsWith('#') ? '' : inline
  const parts = [first, ...rest.filter(line => !isBlank(line)).map(line => line.text.trim())]
  const text = parts.filter(part => part !== '').join(' ')
  return WHOLLY_QUOTED.exec(text)?.[1] ?? text
}

/** A text in double quotes that YAML refuses because of a backslash, such as `"C:\dir"`. */
const WHOLLY_QUOTED = /^"((?:[^"\\]|\\.)+)"$/

function cutIndent(lines: readonly FrontmatterLine[]): readonly string[] {
  const filled = lines.filter(line => line.text.trim() !== '')
  const indent = filled.reduce((least, line) => Math.min(least, indentOf(line)), Number.POSITIVE_INFINITY)
  return lines.map(({ text }) => {
    let [width, at] = [0, 0]
    for (; width < indent && at < text.length; at++) width += text[at] === '\t' ? 2 : 1
    return text.slice(at)
  })
}

const UNCLOSED = /^(?:\[[^\]]*|\{[^}]*|"[^"]*|'[^']*)$/
const QUOTED_THEN_TEXT = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*[^ \t#]/
const ANCHOR_OR_TAG = /^(?:&[\w-]+(?:\s|$)|![!<])/

/** True if the intended end of a text is unclear, or if the value was perhaps not meant as text. */
export function isUnclear(text: string): boolean {
  return text === '' || UNCLOSED.test(text) || ANCHOR_OR_TAG.test(text)
}

/** Returns the reason why a value is not valid YAML, if the value itself shows the reason. */
export function explainValue(inline: string): string | undefined {
  const [start = ''] = inline
  if (UNCLOSED.test(inline))
    return `the ${/["']/.test(start) ? 'quotation mark' : `"${start}"`} at its start is never closed`
  if (/[@`%*&!|>]/.test(start)) return `it starts with ${quote(start)}, which has a meaning in YAML`
  if (QUOTED_THEN_TEXT.test(inline)) return 'text follows the closing quotation mark'
  if (/[[{]/.test(start)) return 'text follows the closing bracket'
  return /:(?:\s|$)/.test(inline) ? 'it has an unquoted ": "' : undefined
}

/**
 * Returns the advice to put a value in quotation marks. The advice depends on the quotation marks inside the value.
 */
export function adviseQuotes(key: string, text: string): string {
  if (!/["\\]/.test(text)) return `put the value of ${quote(key)} in double quotes`
  if (!text.includes("'")) return `put the value of ${quote(key)} in single quotes`
  return `put the value of ${quote(key)} in double quotes, with a backslash before each double quote and backslash in it`
}
