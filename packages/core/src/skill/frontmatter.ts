import { quote, showValue } from '../quote.ts'
import { describeChangedValues } from './changed-values.ts'
import type { Diagnostic } from './diagnostic.ts'
import { readPlainFields } from './plain-fields.ts'
import { readRepaired } from './repaired-yaml.ts'
import { SourceScalar, toSpelled, toTyped } from './source-scalar.ts'
import { cutField, isBlank } from './yaml-entries.ts'
import { loadYaml } from './yaml-text.ts'

const MAX_QUOTED = 60

/** The unparsed frontmatter and body of a SKILL.md. */
export interface SplitSkillText {
  /** The text between the delimiter lines. The frontmatter digest is computed from exactly this text. */
  readonly frontmatter: string
  /** Everything after the closing delimiter line, unchanged. */
  readonly body: string
  /** Number of the line on which `frontmatter` starts, counted from 1 in the file. */
  readonly frontmatterLine: number
  readonly bodyLine: number
}

/**
 * The fields of a frontmatter. Scalars in text fields are the text of the file, so `version: 3.10` below `metadata` is
 * the text `3.10`. The scalars of all other fields have the types that YAML gives them.
 */
export type FrontmatterFields = ReadonlyMap<string, unknown>

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly diagnostics: readonly Diagnostic[] }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Splits the text at its first line `---` and the next line that contains only `---`. A `---` inside a value or in the
 * body is not a delimiter. CRLF, LF and a missing body are accepted.
 */
export function splitSkillText(text: string): Outcome<SplitSkillText> {
  return splitFrom(text, text.startsWith(BYTE_ORDER_MARK) ? 1 : 0)
}

const BLANK_OR_COMMENT = /(?:[ \t]*\r?\n|[ \t]*<!--[\s\S]*?-->)+/y

/** Splits like `splitSkillText`, but skips blank lines and HTML comments before the first `---`, with a warning. */
export function splitServedText(text: string): Outcome<SplitSkillText> {
  const strict = splitSkillText(text)
  const start = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0
  BLANK_OR_COMMENT.lastIndex = start
  const [skipped] = BLANK_OR_COMMENT.exec(text) ?? []
  if (strict.ok || skipped?.endsWith('\n') !== true) return strict
  const split = splitFrom(text, start + skipped.length)
  // A line "---" can also be a Markdown rule above a paragraph.
  if (!split.ok) return split.diagnostics.some(({ code }) => code === 'FRONTMATTER_MISSING') ? strict : split
  const first = split.value.frontmatter.split(/\r?\n/).find(line => !isBlank(line))
  if (first === undefined || cutField(first) === undefined) return strict
  const warning: Diagnostic = {
    code: 'TEXT_BEFORE_FRONTMATTER',
    severity: 'warning',
    message: `the frontmatter starts on line ${split.value.frontmatterLine - 1}; other clients expect it on line 1`,
    line: 1,
    column: 1,
    fix: 'remove the text above the first "---"',
  }
  return { ...split, diagnostics: [...split.diagnostics, warning] }
}

function splitFrom(text: string, start: number): Outcome<SplitSkillText> {
  const diagnostics: Diagnostic[] = []
  const before = text.slice(0, start).split('\n').length
  if (text.startsWith(BYTE_ORDER_MARK)) {
    diagnostics.push({
      code: 'BYTE_ORDER_MARK',
      severity: 'warning',
      message: 'the file starts with a byte order mark, which other clients reject',
      line: 1,
      column: 1,
      fix: 'save the file as UTF-8 without a byte order mark',
    })
  }
  const opening = readLine(text, start)
  if (/^---[ \t]*\r/.test(opening.text)) {
    return failure(diagnostics, {
      code: 'FRONTMATTER_MISSING',
      severity: 'error',
      message: 'each line ends with a carriage return alone, which no client reads as the end of a line',
      line: 1,
      column: 1,
      fix: 'save the file with the line ends LF or CRLF',
    })
  }
  if (!isDelimiter(opening.text)) {
    return failure(diagnostics, {
      code: 'FRONTMATTER_MISSING',
      severity: 'error',
      message: `the first line is ${quote(opening.text, MAX_QUOTED)}; a skill starts with a line "---"`,
      line: 1,
      column: 1,
      fix: 'put "---", a name, a description and "---" above the instructions',
    })
  }
  let at = opening.next
  for (let line = before + 1; at !== undefined; line++) {
    const current = readLine(text, at)
    if (isDelimiter(current.text)) {
      const frontmatter = text.slice(opening.next, at)
      const body = current.next === undefined ? '' : text.slice(current.next)
      return {
        ok: true,
        value: { frontmatter, body, frontmatterLine: before + 1, bodyLine: line + 1 },
        diagnostics,
      }
    }
    at = current.next
  }
  return failure(diagnostics, {
    code: 'FRONTMATTER_UNCLOSED',
    severity: 'error',
    message: 'the frontmatter is not closed: there is no second line "---"',
    line: before,
    column: 1,
    fix: 'put a line "---" between the fields and the instructions',
  })
}

/**
 * Splits like `splitServedText`. If the text has no frontmatter, or an unclosed frontmatter, the whole text becomes
 * the body.
 */
export function splitAnyText(text: string): Outcome<SplitSkillText> & { readonly ok: true } {
  const split = splitServedText(text)
  if (split.ok) return split
  const diagnostics = split.diagnostics.map(
    (diagnostic): Diagnostic => ({ ...diagnostic, severity: 'warning' }),
  )
  const body = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  return { ok: true, value: { frontmatter: '', body, frontmatterLine: 1, bodyLine: 1 }, diagnostics }
}

/**
 * Reads YAML 1.2 (core schema, no custom tags, no aliases). If the text is not valid YAML, invalid values are put in
 * quotation marks, with a warning. Reports the values that YAML changes. Reads simple frontmatters without the YAML
 * parser, because the parser takes five times as long.
 */
export function parseFrontmatter(yaml: string, firstLine: number): Outcome<FrontmatterFields> {
  const plain = readPlainFields(yaml)
  if (plain !== undefined) return { ok: true, value: plain, diagnostics: [] }
  // A text with only blank lines and comments is an empty document in YAML, but js-yaml rejects it.
  if (yaml.split(/\r?\n/).every(isBlank)) return { ok: true, value: new Map(), diagnostics: [] }
  const loaded = loadYaml(yaml, firstLine)
  // If no colon has a space after it, YAML reads the whole frontmatter as one text.
  if (loaded.ok && typeof loaded.value !== 'string') {
    const fields = toFields(loaded.value, firstLine)
    return fields.ok ? { ...fields, diagnostics: describeChangedValues(yaml, firstLine) } : fields
  }
  const repaired = readRepaired(yaml, firstLine, loaded.ok ? undefined : loaded.fault)
  if (!repaired.ok) return repaired
  if (repaired.value.size > 0) return { ...repaired, value: convertScalars(repaired.value) }
  return loaded.ok ? toFields(loaded.value, firstLine) : failure([], loaded.fault)
}

/** The fields whose scalars are text, in lower case. `desc` is another name of `description`. */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'description',
  'desc',
  'license',
  'compatibility',
  'metadata',
])

function convertScalars(fields: Iterable<readonly [key: string, value: unknown]>): FrontmatterFields {
  return new Map(
    Array.from(fields, ([key, value]) => [
      key,
      TEXT_FIELDS.has(key.toLowerCase()) ? toSpelled(value) : toTyped(value),
    ]),
  )
}

/** Returns the fields of a loaded YAML text. */
export function toFields(loaded: unknown, firstLine: number): Outcome<FrontmatterFields> {
  if (loaded === null || loaded === undefined) return { ok: true, value: new Map(), diagnostics: [] }
  const value = loaded instanceof SourceScalar ? loaded.text : loaded
  if (typeof value === 'object' && !Array.isArray(value))
    return { ok: true, value: convertScalars(Object.entries(value)), diagnostics: [] }
  return failure([], {
    code: 'FRONTMATTER_NOT_A_MAP',
    severity: 'error',
    message: `the frontmatter is ${Array.isArray(value) ? 'a list' : `the ${typeof value} ${showValue(value, MAX_QUOTED)}`}; it must be fields such as "name: my-skill"`,
    line: firstLine,
    column: 1,
    fix: 'write one field a line, "name: ..." and "description: ..."',
  })
}

function isDelimiter(line: string): boolean {
  return /^---[ \t]*$/.test(line)
}

function readLine(text: string, from: number): { text: string; next: number | undefined } {
  const end = text.indexOf('\n', from)
  const raw = end === -1 ? text.slice(from) : text.slice(from, end)
  return { text: raw.endsWith('\r') ? raw.slice(0, -1) : raw, next: end === -1 ? undefined : end + 1 }
}

function failure(earlier: readonly Diagnostic[], diagnostic: Diagnostic): Outcome<never> {
  return { ok: false, diagnostics: [...earlier, diagnostic] }
}
