import { escapeControls, quote } from '../quote.ts'
import { describeChangedValues } from './changed-values.ts'
import { adviseClosed, findClosedField, findDecidingKey } from './deciding-fields.ts'
import { type Diagnostic, isError } from './diagnostic.ts'
import type { FrontmatterFields, Outcome } from './frontmatter.ts'
import {
  type CutLine,
  cutField,
  cutItem,
  indentOf,
  isBlank,
  splitEntries,
  type YamlEntry,
} from './yaml-entries.ts'
import { type LoadedYaml, loadYaml } from './yaml-text.ts'

type Lines = readonly string[]

/**
 * Reads a frontmatter that is not valid YAML. Puts each value that YAML cannot read in quotation marks, and loads the
 * text once more. Each repair is a warning at its line. A deciding field gets its strictest value instead of text.
 * Returns no fields if no line is a field.
 *
 * The result is an error if the name or the description is unclear, or if a value exceeds the YAML limits.
 *
 * @param fault why the text is not valid YAML; reported if only the indent of lines had to be repaired
 */
export function readRepaired(yaml: string, line: number, fault?: Diagnostic): Outcome<FrontmatterFields> {
  const repair = new YamlRepair(yaml)
  const lines = yaml.replace(/^[ \t]+/gm, indent => indent.replaceAll('\t', '  ')).split(/\r?\n/)
  const text = repair.repairEntries(lines, { path: '', line }, cutField).join('\n')
  const loaded = loadYaml(text.trim() === '' ? '{}' : text, line)
  const fields = new Map(loaded.ok ? Object.entries(loaded.value as object) : [])
  repair.closeLost(fields)
  const { findings } = repair
  if (findings.length === 0 && fault !== undefined) repair.tolerate('', fault, '')
  findings.push(...(loaded.ok ? describeChangedValues(text, line) : [loaded.fault]))
  const diagnostics = findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
  return diagnostics.some(isError) ? { ok: false, diagnostics } : { ok: true, value: fields, diagnostics }
}

/** Repairs the lines of a frontmatter. Every method returns as many lines as it gets. */
class YamlRepair {
  readonly findings: Diagnostic[] = []
  readonly #anchors: ReadonlySet<string>
  /** Deciding fields in lines that were read as part of another field, each with its line number. */
  readonly #lost = new Map<string, number>()

  constructor(yaml: string) {
    this.#anchors = new Set(listNames('&', yaml))
  }

  repairEntries(lines: Lines, outer: Pick<YamlEntry, 'path' | 'line'>, cut: CutLine): Lines {
    const entries = splitEntries(lines, outer, cut)
    const same = Map.groupBy(entries, ({ path }) => path)
    const stray = lines.slice(0, entries[0] && entries[0].line - outer.line)
    this.#reportStray(stray, outer.line)
    const column = indentOf(entries.at(-1)?.lines[0] ?? '')
    const repaired = entries.map(entry => this.#repairField(entry, same.get(entry.path) ?? []))
    return [...this.#remove(stray, outer.line), ...repaired.flatMap(each => outdent(each, column))]
  }

  #reportStray(lines: Lines, firstLine: number): void {
    const index = lines.findIndex(line => !isBlank(line))
    const problem = `${quote(lines[index]?.trim() ?? '', 40)} is not a field; it was left out`
    if (index !== -1) this.tolerate('', toFault(firstLine + index, problem, 'write "key: value"'), '')
  }

  /** Repairs a field. If a field occurs more than once, the first one counts. */
  #repairField(entry: YamlEntry, [first, second]: readonly YamlEntry[]): Lines {
    const { path, line } = entry
    const fault = toFault(line, `${quote(path)}: the field occurs twice`, 'keep one of the two')
    if (entry === second && UNIQUE.has(path)) this.findings.push(fault)
    else if (entry === second) this.tolerate(path, fault, '; the first one counts')
    if (entry !== first) return this.#replace(entry, '')
    const closed = second && findClosedField(path)
    return closed === undefined ? this.#repairEntry(entry) : this.#replace(entry, closed.line)
  }

  #repairEntry(entry: YamlEntry): Lines {
    const { path, line, lines } = entry
    const found = findFault(lines, line)
    if (found === undefined) return lines
    const { fault, reason } = found
    // Only YAML can read an explicit key ("? key"), so a faulty explicit key might hide a deciding field.
    if (path !== '?' && !this.#exceedsLimits(reason, lines))
      return this.#repairInside(entry) ?? this.#indentRest(entry) ?? this.#quoteValue(entry, fault)
    this.findings.push(fault)
    return this.#replace(entry, '')
  }

  /** True if a value exceeds the YAML limits. Without an anchor of the same name, a `*` is text. */
  #exceedsLimits(reason: string, lines: Lines): boolean {
    const isAlias = (): boolean => listNames('*', lines.join('\n')).some(name => this.#anchors.has(name))
    return reason.includes('maxDepth') || (reason.includes('maxAliases') && isAlias())
  }

  /** Repairs the map or list below a key. Returns `undefined` for any other value. */
  #repairInside({ path, key, inline, line, lines: [first = '', ...rest] }: YamlEntry): Lines | undefined {
    const isText = path === 'description' || (path !== 'metadata' && findClosedField(path) !== undefined)
    if (isText || !isBlank(inline)) return undefined
    const start = rest.find(each => !isBlank(each)) ?? ''
    const cut = [cutItem, cutField].find(each => each(start) !== undefined)
    const inner = cut && this.repairEntries(rest, { path, line: line + 1 }, cut)
    const repaired = inner && [first.slice(0, indentOf(first)) + toMark(key), ...inner]
    return repaired && findFault(repaired, line) === undefined ? repaired : undefined
  }

  /** Indents the further lines of a value. Returns `undefined` if the value is still not valid YAML. */
  #indentRest({ path, line, lines: [first = '', ...rest] }: YamlEntry): Lines | undefined {
    const indent = ' '.repeat(indentOf(first) + 2)
    const indented = [first, ...rest.map(text => indent + text)]
    const isText = path !== 'name' && findClosedField(path) === undefined
    if (!isText || findFault(indented, line) !== undefined) return undefined
    const problem = `the value of ${quote(path)} continues on a line that is not indented`
    this.tolerate(path, toFault(line, problem, 'indent each further line of the value by two spaces'), '')
    this.#remove(rest, line + 1)
    return indented
  }

  /** Puts a value in quotation marks. A deciding field gets its strictest value. */
  #quoteValue(entry: YamlEntry, fault: Diagnostic): Lines {
    const { path, key, inline, line, lines } = entry
    const text = foldText(entry)
    const column = (lines[0] ?? '').lastIndexOf(inline) + 1
    const [hidden] = lines.slice(1).flatMap(each => findDecidingKey(each) ?? [])
    // Quotation marks around the value would make the field in it ordinary text.
    const fix = hidden === undefined ? fault.fix : `correct the line of "${hidden}" first`
    const problem = `the value of ${quote(path)} is not valid YAML (${fault.message})`
    const found = toFault(line, problem, fix)
    if (UNIQUE.has(path) && UNCLEAR.test(text)) this.findings.push({ ...found, column })
    else this.tolerate(path, found, '; it is served as plain text')
    return this.#replace(entry, findClosedField(path)?.line ?? `${toMark(key)} ${toQuoted(text)}`)
  }

  /** Returns a line in place of an entry. */
  #replace({ line, lines: [first = '', ...rest] }: YamlEntry, text: string): Lines {
    return [first.slice(0, indentOf(first)) + text, ...this.#remove(rest, line + 1)]
  }

  /** Removes lines, and notes the deciding fields in them. */
  #remove(lines: Lines, firstLine: number): Lines {
    for (const [index, text] of lines.entries()) {
      const key = findDecidingKey(text)
      if (key !== undefined && !this.#lost.has(key)) this.#lost.set(key, firstLine + index)
    }
    return lines.map(() => '')
  }

  /** Gives every deciding field in a removed line its strictest value. */
  closeLost(fields: Map<string, unknown>): void {
    for (const [key, line] of this.#lost) {
      const spellings = [...fields.keys()].filter(other => other.toLowerCase() === key)
      for (const spelling of [key, ...spellings]) fields.set(spelling, findClosedField(key)?.value)
      this.tolerate(key, toFault(line, `the line is part of another field, so ${quote(key)} is unclear`), '')
    }
  }

  /** Reports a fault as a warning. The message of a deciding field ends with its strictest value. */
  tolerate(path: string, fault: Diagnostic, outcome: string): void {
    const closed = findClosedField(path)
    const message = fault.message + (closed === undefined ? outcome : `, so ${closed.meaning}`)
    const fix = closed === undefined ? fault.fix : adviseClosed(closed)
    this.findings.push({ ...fault, code: 'YAML_REPAIRED', severity: 'warning', message, fix: fix ?? '' })
  }
}

/** Lists the names after a mark of YAML: `&` for anchors, `*` for aliases. */
function listNames(mark: '&' | '*', text: string): readonly string[] {
  return [...text.matchAll(new RegExp(`(?<![^\\s[{,])\\${mark}([^\\s,[\\]{}]+)`, 'g'))].map(
    ([, name = '']) => name,
  )
}

function toFault(line: number, message: string, fix = ''): Diagnostic {
  return { code: 'YAML_INVALID', severity: 'error', message, line, column: 1, fix }
}

/** The keys that may not occur twice. */
const UNIQUE: ReadonlySet<string> = new Set(['name', 'description', '?'])

/** Returns why lines are not valid as a field or an item. */
function findFault(lines: Lines, line: number): Exclude<LoadedYaml, { ok: true }> | undefined {
  const loaded = loadYaml(lines.join('\n'), line)
  if (!loaded.ok) return loaded
  const isEnded = lines.some(each => /^\.{3}(?:\s|$)/.test(each))
  const fault = isEnded
    ? toFault(line, 'a line "..." ends the fields', 'remove the line')
    : toFault(line, 'no space follows the colon', 'put a space after the colon')
  return isEnded || typeof loaded.value === 'string' ? { ok: false, fault, reason: '' } : undefined
}

/** Moves lines to the left, so that the first line starts in a column. */
function outdent(lines: Lines, column: number): Lines {
  const width = indentOf(lines[0] ?? '') - column
  return lines.map(line => line.slice(Math.min(width, indentOf(line))))
}

/** An empty text, a text whose intended end is unclear, and a value that was perhaps not meant as text. */
const UNCLEAR = /^(?:\[[^\]]*|\{[^}]*|"[^"]*|'[^']*|&[\w-]+(?:\s.*)?|![!<].*)?$/
const BLOCK_MARK = /^[|>][-+0-9]*[ \t]*(?:#.*)?$/
/** A text in double quotes that YAML refuses because of a backslash, such as `"C:\dir"`. */
const WHOLLY_QUOTED = /^"((?:[^"\\]|\\.)+)"$/

/**
 * Returns the text that a person would read from a value: its lines, joined by spaces. Only the first line is a name,
 * because the lines below may be other fields.
 */
function foldText({ path, inline, lines }: YamlEntry): string {
  const below = path === 'name' ? [] : lines.slice(1).filter(line => !isBlank(line))
  const text = [inline.replace(BLOCK_MARK, ''), ...below.map(line => line.trim())].join(' ').trim()
  return text.replace(WHOLLY_QUOTED, '$1')
}

/** Returns the text before the value of an entry. */
function toMark(key: string): string {
  return key === '-' ? '-' : `${toQuoted(key)}:`
}

/** Returns a text in double quotes, in which YAML and JSON agree. */
function toQuoted(text: string): string {
  return escapeControls(JSON.stringify(text))
}
