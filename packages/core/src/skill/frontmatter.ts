import { CORE_SCHEMA, load, YAMLException } from 'js-yaml'
import type { Diagnostic } from './diagnostic.ts'

/** SKILL.md cut at its delimiters; nothing is interpreted yet. */
export interface SplitSkillText {
  /** The text between the delimiter lines, without them; its digest is the frontmatter digest. */
  readonly frontmatter: string
  /** Everything after the closing delimiter line, unchanged. */
  readonly body: string
  /** Line of the file, counted from 1, on which `frontmatter` starts. */
  readonly frontmatterLine: number
  readonly bodyLine: number
  readonly diagnostics: readonly Diagnostic[]
}

/** The fields of a frontmatter with the types that YAML gives them. */
export type FrontmatterFields = ReadonlyMap<string, unknown>

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly diagnostics: readonly Diagnostic[] }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Cuts the text at its first line `---` and the next line that is `---` and nothing else.
 * `---` inside a value or in the body does not count; CRLF, LF and a missing body are all fine.
 */
export function splitSkillText(text: string): Outcome<SplitSkillText> {
  const diagnostics: Diagnostic[] = []
  let start = 0
  if (text.startsWith(BYTE_ORDER_MARK)) {
    start = 1
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
  if (!isDelimiter(opening.text)) {
    return failure(diagnostics, {
      code: 'FRONTMATTER_MISSING',
      severity: 'error',
      message: `the first line is ${quote(opening.text)}; a skill starts with a line "---"`,
      line: 1,
      column: 1,
      fix: 'put "---", a name, a description and "---" above the instructions',
    })
  }
  let at = opening.next
  for (let line = 2; at !== undefined; line++) {
    const current = readLine(text, at)
    if (isDelimiter(current.text)) {
      const frontmatter = text.slice(opening.next, at)
      const body = current.next === undefined ? '' : text.slice(current.next)
      return {
        ok: true,
        value: { frontmatter, body, frontmatterLine: 2, bodyLine: line + 1, diagnostics },
        diagnostics,
      }
    }
    at = current.next
  }
  return failure(diagnostics, {
    code: 'FRONTMATTER_UNCLOSED',
    severity: 'error',
    message: 'the frontmatter is not closed: there is no second line "---"',
    line: 1,
    column: 1,
    fix: 'put a line "---" between the fields and the instructions',
  })
}

/** Cuts like `splitSkillText`; a text without frontmatter, or with one that is never closed, is all body. */
export function splitAnyText(text: string): Outcome<SplitSkillText> & { readonly ok: true } {
  const split = splitSkillText(text)
  if (split.ok) return split
  const diagnostics = split.diagnostics.map(
    (diagnostic): Diagnostic => ({ ...diagnostic, severity: 'warning' }),
  )
  const body = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  const value = { frontmatter: '', body, frontmatterLine: 1, bodyLine: 1, diagnostics }
  return { ok: true, value, diagnostics }
}

/**
 * Reads YAML 1.2 (core schema, no custom tags, no aliases). When that fails, tries once more with plain scalars
 * quoted, which heals nearly all invalid files in the wild (an unquoted `: `), and says so.
 */
export function parseFrontmatter(yaml: string, firstLine: number): Outcome<FrontmatterFields> {
  const strict = loadYaml(yaml, firstLine)
  if (strict.ok) return strict
  const repair = quotePlainScalars(yaml)
  if (repair === undefined) return strict
  const second = loadYaml(repair.yaml, firstLine)
  if (!second.ok) return strict
  const [fault] = strict.diagnostics
  return {
    ...second,
    diagnostics: repair.keys.map(({ key, line }) => ({
      code: 'YAML_REPAIRED',
      severity: 'warning',
      message: `the value of "${key}" is not valid YAML as it stands (${fault?.message}); it was read as plain text`,
      line: firstLine + line,
      column: 1,
      fix: `put the value of "${key}" in double quotes`,
    })),
  }
}

function loadYaml(yaml: string, firstLine: number): Outcome<FrontmatterFields> {
  // Nothing but blank lines and comments: js-yaml calls that an error, and YAML an empty document.
  if (/^(?:[ \t]*(?:#[^\n]*)?(?:\r?\n|$))*$/.test(yaml))
    return { ok: true, value: new Map(), diagnostics: [] }
  try {
    const value: unknown = load(yaml, { schema: CORE_SCHEMA, maxAliases: 0, maxDepth: 16 })
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { ok: true, value: new Map(Object.entries(value)), diagnostics: [] }
    }
    if (value === null || value === undefined) return { ok: true, value: new Map(), diagnostics: [] }
    return failure([], {
      code: 'FRONTMATTER_NOT_A_MAP',
      severity: 'error',
      message: `the frontmatter is ${Array.isArray(value) ? 'a list' : `the ${typeof value} ${quote(JSON.stringify(value))}`}; it must be fields such as "name: my-skill"`,
      line: firstLine,
      column: 1,
      fix: 'write one field a line, "name: ..." and "description: ..."',
    })
  } catch (thrown) {
    return failure([], toYamlDiagnostic(thrown, yaml, firstLine))
  }
}

/** The diagnostic for what js-yaml threw; its marks count lines and columns from 0. */
export function toYamlDiagnostic(thrown: unknown, yaml: string, firstLine: number): Diagnostic {
  const unclosed = findUnclosed(yaml)
  if (unclosed !== undefined) {
    return {
      code: 'YAML_INVALID',
      severity: 'error',
      message: `the ${unclosed.opener} that opens the value of "${unclosed.key}" is never closed`,
      line: firstLine + unclosed.line,
      column: unclosed.column,
      fix: 'close it at the end of the value, or remove it',
    }
  }
  // js-yaml throws plain errors for a few broken inputs too; somebody's text must never look like our failure.
  const reason = thrown instanceof YAMLException ? thrown.reason : String(thrown)
  const mark = thrown instanceof YAMLException ? thrown.mark : undefined
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(reason))
  return {
    code: 'YAML_INVALID',
    severity: 'error',
    message: known === undefined ? reason : `${reason}: ${known[1]}`,
    line: firstLine + (mark?.line ?? 0),
    column: (mark?.column ?? 0) + 1,
    fix:
      known?.[2] ??
      'write one "key: value" a line, nested ones indented by two spaces, and quote unusual values',
  }
}

const EXPLANATIONS: readonly (readonly [pattern: RegExp, meaning: string, fix: string])[] = [
  [
    /mapping is not allowed|bad indentation of a mapping/,
    'mostly an unquoted ": " inside a value',
    'put the value in double quotes',
  ],
  [/duplicated mapping key/, 'the field is there twice', 'keep one of the two'],
  [/maxAliases/, 'references ("*name") are not read', 'write the value out'],
  [/unknown .*tag/, 'tags ("!name") are not read', 'remove the tag'],
  [/tab/i, 'YAML is indented by spaces', 'replace the tabs by spaces'],
]

const CLOSED: Readonly<Record<string, RegExp>> = {
  '"': /^"(?:[^"\\]|\\.)*"/s,
  "'": /^'(?:[^']|'')*'/,
  '[': /\]/,
  '{': /\}/,
}

/** A top-level value that opens a quotation or a collection which nothing in the rest of the frontmatter closes. */
function findUnclosed(
  yaml: string,
): { key: string; opener: string; line: number; column: number } | undefined {
  const lines = yaml.split('\n')
  for (const [index, line] of lines.entries()) {
    const [, head, key, opener] = /^(([A-Za-z_][\w.-]*)[ \t]*:[ \t]+)(["'[{])/.exec(line) ?? []
    if (head === undefined || key === undefined || opener === undefined) continue
    const rest = [line.slice(head.length), ...lines.slice(index + 1)].join('\n')
    if (CLOSED[opener]?.test(rest) === false) {
      return {
        key,
        opener: /["']/.test(opener) ? 'quotation mark' : `"${opener}"`,
        line: index,
        column: head.length + 1,
      }
    }
  }
  return undefined
}

interface Repair {
  readonly yaml: string
  /** The repaired top-level keys with their line in `yaml`, counted from 0. */
  readonly keys: readonly { readonly key: string; readonly line: number }[]
}

const TOP_LEVEL_FIELD = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*?))?[ \t]*\r?$/
// What a plain value that YAML reads as something other than text looks like: it is left alone.
const TYPED = /^(?:~|null|true|false|[-+]?[0-9][0-9_.eE+-]*|[-+]?\.(?:inf|nan))$/i
// A value that opens a block, or is a complete structure or quoted text, means what it says and is left alone; so is
// one that opens a structure or a quote and never closes it, because nobody can say where its end was meant to be.
const STRUCTURED = new RegExp(
  [
    String.raw`^[|>][-+0-9 \t]*(?:#.*)?$`, // a block
    String.raw`^(?:\[.*\]|\{.*\}|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')$`, // complete
    String.raw`^(?:\[[^\]]*|\{[^}]*|"[^"]*|'[^']*)$`, // never closed
    String.raw`^(?:\*[\w-]+$|&[\w-]+(?:\s|$)|![\w!/:-]*(?:\s|$))`, // an alias, an anchor, a tag
  ].join('|'),
)

/** Quotes each top-level plain value, folding its indented continuation lines into it; `undefined` if none is there. */
function quotePlainScalars(yaml: string): Repair | undefined {
  const lines = yaml.split('\n')
  const output: string[] = []
  const keys: { key: string; line: number }[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string
    const field = TOP_LEVEL_FIELD.exec(line)
    const [, key, value] = field ?? []
    if (key === undefined || value === undefined || TYPED.test(value) || STRUCTURED.test(value)) {
      output.push(line)
      continue
    }
    const continued = collectContinuation(lines, i + 1)
    const text = [value, ...continued.texts].join(' ')
    output.push(`${key}: ${JSON.stringify(text)}`, ...continued.texts.map(() => ''))
    if (needsQuotes(text)) keys.push({ key, line: i })
    i += continued.count
  }
  return keys.length === 0 ? undefined : { yaml: output.join('\n'), keys }
}

function collectContinuation(lines: readonly string[], from: number): { texts: string[]; count: number } {
  const texts: string[] = []
  let count = 0
  for (let i = from; i < lines.length; i++) {
    const line = (lines[i] as string).replace(/\r$/, '')
    if (!/^[ \t]+\S/.test(line)) break
    texts.push(line.trim())
    count++
  }
  return { texts, count }
}

function needsQuotes(text: string): boolean {
  return /:(?:\s|$)|\s#|^[-?:,[\]{}#&*!|>'"%@`]/.test(text)
}

function isDelimiter(line: string): boolean {
  return /^---[ \t]*$/.test(line)
}

function readLine(text: string, from: number): { text: string; next: number | undefined } {
  const end = text.indexOf('\n', from)
  const raw = end === -1 ? text.slice(from) : text.slice(from, end)
  return { text: raw.endsWith('\r') ? raw.slice(0, -1) : raw, next: end === -1 ? undefined : end + 1 }
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text)
}

function failure(earlier: readonly Diagnostic[], diagnostic: Diagnostic): Outcome<never> {
  return { ok: false, diagnostics: [...earlier, diagnostic] }
}
