import { findDecidingKey } from './deciding-fields.ts'

/** A line of a frontmatter, without its line break. */
export interface FrontmatterLine {
  readonly text: string
  /** Index of the line in the frontmatter, counted from 0. */
  readonly index: number
}

/** The lines of one field: the line with its key, and all lines up to the next field of the same level. */
export interface FieldLines {
  /** The key as written in the file, including quotation marks. */
  readonly key: string
  /** The text after the colon on the same line, trimmed. */
  readonly inline: string
  readonly first: FrontmatterLine
  readonly rest: readonly FrontmatterLine[]
}

export function toLines(text: string): FrontmatterLine[] {
  return text.split('\n').map((line, index) => ({ text: line.replace(/\r$/, ''), index }))
}

/**
 * Returns the width of the indent in columns. A tab counts as two columns, because most editors indent YAML by two
 * spaces.
 */
export function indentOf({ text }: FrontmatterLine): number {
  const [spaces] = /^[ \t]*/.exec(text) ?? ['']
  return spaces.length + spaces.replaceAll(' ', '').length
}

export function isBlank({ text }: FrontmatterLine): boolean {
  return /^\s*(?:#.*)?$/.test(text)
}

/** Replaces each tab in the indent of a line with two spaces. */
export function expandTabs(line: FrontmatterLine): FrontmatterLine {
  const [spaces] = /^[ \t]*/.exec(line.text) ?? ['']
  return { ...line, text: spaces.replaceAll('\t', '  ') + line.text.slice(spaces.length) }
}

/** True if a line starts with a key and a colon. Small deviations from YAML are accepted. */
export function isField(line: FrontmatterLine): boolean {
  return cutKey(line) !== undefined
}

/**
 * Splits lines into the fields of their outermost level. A field with less indent than the fields above it counts as a
 * field of the same level. Lines before the first field are returned as `stray`.
 */
export function splitFields(lines: readonly FrontmatterLine[]): {
  stray: readonly FrontmatterLine[]
  fields: readonly FieldLines[]
} {
  const stray: FrontmatterLine[] = []
  const fields: (FieldLines & { rest: FrontmatterLine[] })[] = []
  let level = Number.POSITIVE_INFINITY
  for (const line of lines) {
    const rest = fields.at(-1)?.rest ?? stray
    const indent = isBlank(line) ? Number.POSITIVE_INFINITY : indentOf(line)
    const cut = fields.length === 0 || indent <= level ? cutKey(line) : undefined
    if (cut === undefined) rest.push(line)
    else {
      fields.push({ ...cut, first: line, rest: [] })
      level = indent
    }
  }
  return { stray, fields }
}

/** Splits lines into list items, at the outermost `- `. */
export function splitItems(lines: readonly FrontmatterLine[]): readonly (readonly FrontmatterLine[])[] {
  const items: FrontmatterLine[][] = []
  let level = Number.POSITIVE_INFINITY
  for (const line of lines) {
    const item = items.at(-1)
    const indent = isBlank(line) ? Number.POSITIVE_INFINITY : indentOf(line)
    if (item === undefined || (indent <= level && isItem(line))) {
      items.push([line])
      level = Math.min(level, indent)
    } else item.push(line)
  }
  return items
}

export function isItem({ text }: FrontmatterLine): boolean {
  return /^[ \t]*-(?:[ \t]|$)/.test(text)
}

const QUOTED_KEY = /^[ \t]*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:(?:[ \t]|$)/
const PLAIN_KEY = /^[ \t]*([^\s"'[{:#](?:[^:]|:(?![ \t]|$))*):(?=[ \t]|$)/
// A key without a space after its colon, such as `version:2`. An address such as `https://...` is not a field.
const TIGHT_KEY = /^[ \t]*([A-Za-z_][\w-]+):(?!\/\/)/

function cutKey(line: FrontmatterLine): { key: string; inline: string } | undefined {
  const { text } = line
  if (isBlank(line) || isItem(line)) return undefined
  const deciding = findDecidingKey(text)
  if (deciding !== undefined) return cutAt(text, deciding, text.indexOf(':') + 1 || text.length)
  const quoted = QUOTED_KEY.exec(text)
  if (quoted !== null) return cutAt(text, quoted[1] as string, quoted[0].length)
  // An explicit key ("? key") also starts a field. Only the YAML parser can read an explicit key.
  if (/^[ \t]*\?(?:[ \t]|$)/.test(text)) return cutAt(text, '?', text.indexOf('?') + 1)
  const plain = PLAIN_KEY.exec(text.replace(/\s#.*$/, ''))
  if (plain !== null) return cutAt(text, (plain[1] as string).trim(), plain[0].length)
  const tight = TIGHT_KEY.exec(text)
  return tight === null ? undefined : cutAt(text, tight[1] as string, tight[0].length)
}

function cutAt(text: string, key: string, end: number): { key: string; inline: string } {
  return { key, inline: text.slice(end).trim() }
}
