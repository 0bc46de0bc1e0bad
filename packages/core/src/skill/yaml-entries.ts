import { findDecidingKey } from './deciding-fields.ts'
import { loadYaml } from './yaml-text.ts'

/** The lines of one field or list item, up to the next one of the same level. */
export interface YamlEntry {
  /** The keys from the outermost field down to the value, joined by dots. */
  readonly path: string
  /** The key that YAML reads. A list item has the key `-`. */
  readonly key: string
  /** The value on the first line, trimmed. */
  readonly inline: string
  /** Number of the first line, counted from 1 in the file. */
  readonly line: number
  readonly lines: readonly string[]
}

type EntryStart = Pick<YamlEntry, 'key' | 'inline'>

/** Returns the key and the value of a line that starts an entry, or `undefined` for any other line. */
export type CutLine = (line: string) => EntryStart | undefined

/**
 * Splits lines into the fields or the list items of their outermost level. Lines before the first entry are left out.
 * An entry with less indent than the entries above it counts as an entry of the same level.
 */
export function splitEntries(
  lines: readonly string[],
  { path, line }: Pick<YamlEntry, 'path' | 'line'>,
  cut: CutLine,
): readonly YamlEntry[] {
  const entries: (YamlEntry & { lines: string[] })[] = []
  let level = Number.POSITIVE_INFINITY
  for (const [index, text] of lines.entries()) {
    const indent = indentOf(text)
    const start = isBlank(text) || indent > level ? undefined : cut(text)
    if (start === undefined) entries.at(-1)?.lines.push(text)
    else {
      const own = start.key === '-' ? `[${entries.length}]` : `${path && '.'}${start.key}`
      entries.push({ ...start, path: path + own, line: line + index, lines: [text] })
      level = indent
    }
  }
  return entries
}

export function indentOf(line: string): number {
  return line.search(/[^ \t]|$/)
}

/** True for a blank line and for a comment. */
export function isBlank(line: string): boolean {
  return /^\s*(?:#.*)?$/.test(line)
}

export function cutItem(line: string): EntryStart | undefined {
  const [found, inline = ''] = /^[ \t]*-(?:[ \t]+(.*))?$/s.exec(line) ?? []
  return found === undefined ? undefined : { key: '-', inline: inline.trim() }
}

// A key in quotation marks, an explicit key ("? key"), a plain key, and a key without a space after its colon. An
// address such as `https://...` is not a field.
const FIELD_STARTS = [
  /^[ \t]*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:(?:[ \t]|$)/,
  /^[ \t]*(\?)(?:[ \t]|$)/,
  /^[ \t]*([^\s"'[{:#](?:[^:#]|:(?![ \t]|$)|(?<!\s)#)*):(?:[ \t]|$)/,
  /^[ \t]*([A-Za-z_][\w-]+):(?!\/\/)/,
]

/** Returns the parts of a line that starts with a key and a colon. Small deviations from YAML are accepted. */
export function cutField(line: string): EntryStart | undefined {
  if (cutItem(line) !== undefined) return undefined
  const deciding = findDecidingKey(line)
  if (deciding !== undefined) return { key: deciding, inline: line.slice(line.indexOf(':') + 1).trim() }
  const match = FIELD_STARTS.map(pattern => pattern.exec(line)).find(found => found !== null)
  return match && { key: readKey((match[1] as string).trim()), inline: line.slice(match[0].length).trim() }
}

/** Returns the key that YAML reads, without quotation marks, anchors and tags. */
function readKey(key: string): string {
  const loaded = loadYaml(key, 1)
  return loaded.ok && typeof loaded.value === 'string' ? loaded.value : key
}
