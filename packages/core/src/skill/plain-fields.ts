import type { FrontmatterFields } from './frontmatter.ts'

// Text that YAML reads unchanged: printable, on one line, without characters that end a value or start another kind of value.
const PRINTABLE = String.raw`[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]`
const KEY = String.raw`([A-Za-z_][\w-]*)`
const VALUE = String.raw`(?:"([^"\\]*)"|'([^']*)'|([A-Za-z(]${PRINTABLE}*))`
const LINE = new RegExp(`^( *)${KEY}:(?: +${VALUE})? *$`)
const ONLY_PRINTABLE = new RegExp(`^(?:${PRINTABLE}|\n)*$`)
/** Matches a comment or a map inside a plain value. */
const NOT_PLAIN = /:(?: |$)| #/
/** Words that YAML's core schema does not read as text. */
const NOT_TEXT = /^(?:null|true|false)$/i

/**
 * Reads a simple frontmatter: lines of `key: text`, quoted or not, and maps of such lines one level below. Returns
 * `undefined` for any other text, which needs the YAML parser. If the result is not `undefined`, it equals the result
 * of the YAML parser.
 */
export function readPlainFields(yaml: string): FrontmatterFields | undefined {
  if (!ONLY_PRINTABLE.test(yaml)) return undefined
  const lines = yaml.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const fields = new Map<string, unknown>()
  /** The map that is being read, and the indent of its lines. */
  let inner: { readonly fields: Record<string, string>; indent: number } | undefined
  for (const line of lines) {
    const [, { length: indent } = '', key, double, single, plain] = LINE.exec(line) ?? []
    if (key === undefined || key === '__proto__' || NOT_TEXT.test(key)) return undefined
    const value = double ?? single ?? toPlain(plain)
    if (indent === 0) {
      if (fields.has(key) || inner?.indent === 0) return undefined
      if (plain !== undefined && value === undefined) return undefined
      inner = value === undefined ? { fields: {}, indent: 0 } : undefined
      fields.set(key, value ?? inner?.fields)
    } else {
      if (inner === undefined || value === undefined || Object.hasOwn(inner.fields, key)) return undefined
      if (inner.indent === 0) inner.indent = indent
      if (inner.indent !== indent) return undefined
      inner.fields[key] = value
    }
  }
  return fields.size === 0 || inner?.indent === 0 ? undefined : fields
}

function toPlain(text: string | undefined): string | undefined {
  const trimmed = text?.replace(/ +$/, '')
  return trimmed === undefined || NOT_PLAIN.test(trimmed) || NOT_TEXT.test(trimmed) ? undefined : trimmed
}
