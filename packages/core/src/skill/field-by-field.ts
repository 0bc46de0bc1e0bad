import { quote } from '../quote.ts'
import { describeChangedValues } from './changed-values.ts'
import { adviseClosed, findClosedField, findDecidingKey } from './deciding-fields.ts'
import type { Diagnostic } from './diagnostic.ts'
import { FieldFindings } from './field-findings.ts'
import type { FrontmatterFields, Outcome } from './frontmatter.ts'
import {
  expandTabs,
  type FieldLines,
  type FrontmatterLine,
  indentOf,
  isBlank,
  isField,
  isItem,
  splitFields,
  splitItems,
  toLines,
} from './frontmatter-lines.ts'
import { adviseQuotes, explainValue, foldText, isUnclear } from './plain-text.ts'
import { SourceScalar } from './source-scalar.ts'
import { type LoadedYaml, loadYaml, MAX_YAML_DEPTH } from './yaml-text.ts'

/**
 * Reads each field of a frontmatter separately when the whole frontmatter is not valid YAML. A value that is not valid
 * YAML is read as plain text, at any depth, with a warning at its line. Each line is parsed at most twice per level, so
 * the running time depends on the size of the text and not on the number of faults.
 *
 * The result is an error if the name or the description is unclear, or if a field exceeds the YAML limits. A deciding
 * field gets its strictest value instead of text.
 */
export function readFieldByField(yaml: string, firstLine: number): Outcome<FrontmatterFields> {
  const findings = new FieldFindings(firstLine)
  const fields = new FieldReader(yaml, findings).readMap(toLines(yaml), { key: '', path: '', depth: 0 })
  findings.closeLost(fields)
  const { diagnostics, hasError } = findings
  return hasError ? { ok: false, diagnostics } : { ok: true, value: fields, diagnostics }
}

/** The position of a value in the frontmatter. */
interface Place {
  readonly key: string
  /** The keys from the outermost field down to the value, joined by dots. Empty for the whole frontmatter. */
  readonly path: string
  readonly depth: number
}

type Entries = readonly (readonly [key: string, value: unknown])[]

const READ_AS_TEXT = '; it was read as plain text'
const NO_SPACE = 'no space follows the colon'

class FieldReader {
  readonly #findings: FieldFindings
  readonly #anchors: ReadonlySet<string>

  constructor(yaml: string, findings: FieldFindings) {
    this.#findings = findings
    const anchors = yaml.matchAll(/(?<![^\s[{,])&([^\s,[\]{}]+)/g)
    this.#anchors = new Set(Array.from(anchors, match => match[1] as string))
  }

  readMap(lines: readonly FrontmatterLine[], place: Place): Map<string, unknown> {
    const { stray, fields } = splitFields(lines)
    const map = new Map<string, unknown>()
    const first = stray.find(line => !isBlank(line))
    if (first !== undefined) {
      const shown = quote(first.text.trim(), 40)
      this.#findings.warn(first, `${shown} is not a field; it was left out`, 'write "key: value"')
      this.#findings.noteLost(stray)
    }
    for (const field of fields)
      for (const [key, value] of this.#readField(field, place)) {
        if (map.has(key)) map.set(key, this.#readAgain(toInner(place, key), map.get(key), field.first))
        else map.set(key, value)
      }
    return map
  }

  /** If a field occurs twice, returns its first value and reports the repetition. */
  #readAgain({ path }: Place, earlier: unknown, line: FrontmatterLine): unknown {
    const problem = `${quote(path)}: the field occurs twice`
    const fix = 'keep one of the two'
    const closed = findClosedField(path)
    if (path === 'name' || path === 'description')
      this.#findings.fail(toFault(problem, fix, this.#findings.lineOf(line)))
    else if (closed === undefined)
      this.#findings.warn(line, `${problem}; the first one counts`, 'keep the first of the two')
    else this.#findings.warn(line, `${problem}, so ${closed.meaning}`, adviseClosed(closed))
    return closed === undefined ? earlier : closed.value
  }

  /** Returns the entries of a field: usually one, or several if YAML finds more keys in the lines of the field. */
  #readField(field: FieldLines, outer: Place): Entries {
    const lines = [field.first, ...field.rest]
    const loaded = this.#load(lines, outer)
    if (loaded.ok && isRecord(loaded.value)) return Object.entries(loaded.value)
    const place = toInner(outer, readKey(field.key))
    const fault = loaded.ok ? this.#missingSpace(field) : loaded.fault
    // Only YAML can read an explicit key, so a faulty explicit key might hide a deciding field.
    const isRefused = (field.key === '?' && outer.path === '') || this.#isRefused(loaded, lines)
    const entries = isRefused ? undefined : this.#readFaulty(field, place, fault)
    if (entries === undefined) this.#findings.fail(fault)
    return entries ?? []
  }

  /** Reads a field that is not valid YAML. Returns `undefined` if the meaning of the field is unclear. */
  #readFaulty(field: FieldLines, place: Place, fault: Diagnostic): Entries | undefined {
    const { first, rest, inline } = field
    const { key, path } = place
    if (path === 'name') return this.#readName(field, place, fault)
    const nested = inline === '' || inline.startsWith('#') ? skipBlank(rest) : []
    const isMap = nested[0] !== undefined && isField(nested[0])
    const closed = path === 'metadata' && isMap ? undefined : findClosedField(path)
    if (closed === undefined && path !== 'description') {
      if (isMap) return [[key, Object.fromEntries(this.readMap(nested, place))]]
      if (nested[0] !== undefined && isItem(nested[0])) return [[key, this.#readList(nested, place)]]
    }
    const quoted = closed === undefined ? this.#readQuoted(field, place) : undefined
    if (quoted !== undefined) return [[key, quoted]]
    const text = foldText(inline, rest)
    if (path === 'description' && isUnclear(text)) return undefined
    const outcome = closed === undefined ? READ_AS_TEXT : `, so ${closed.meaning}`
    const reason = explainValue(/^["']/.test(inline) ? text : inline) ?? fault.message
    const hidden = path === key ? rest.map(line => findDecidingKey(line.text)).find(Boolean) : undefined
    this.#warnOfValue(first, { path, text, reason, outcome, hidden })
    if (path === key) this.#findings.noteLost(rest)
    return [[key, closed === undefined ? text : closed.value]]
  }

  /** Reads a text in quotation marks whose further lines are not indented. */
  #readQuoted({ first, rest, inline }: FieldLines, { path, depth }: Place): unknown {
    if (!/^["']/.test(inline) || rest.every(isBlank)) return undefined
    const indent = ' '.repeat(indentOf(first) + 2)
    const text = join([first, ...rest.map(line => ({ ...line, text: indent + line.text }))])
    const loaded = loadYaml(text, {
      firstLine: this.#findings.lineOf(first),
      maxDepth: MAX_YAML_DEPTH - depth,
    })
    const [value] = loaded.ok && isRecord(loaded.value) ? Object.values(loaded.value) : []
    if (typeof value !== 'string') return undefined
    const problem = `the value of ${quote(path)} continues on a line that is not indented`
    this.#findings.warn(first, problem, 'indent each further line of the value by two spaces')
    if (!path.includes('.')) this.#findings.noteLost(rest)
    return value
  }

  /** Reads the name only from the line of its key. Unexpected lines below that line may be separate fields. */
  #readName(field: FieldLines, place: Place, fault: Diagnostic): Entries | undefined {
    const { first, rest, inline } = field
    const alone = this.#load([first], place)
    const name = alone.ok && isRecord(alone.value) ? alone.value['name'] : foldText(inline, [])
    if (typeof name === 'string' && isUnclear(name)) return undefined
    const reason = explainValue(inline) ?? fault.message
    this.#warnOfValue(first, { path: 'name', text: inline, reason, outcome: '; its first line was read' })
    const below = skipBlank(rest)
    const entries = below.length === 0 ? [] : this.readMap(below, { key: '', path: '', depth: place.depth })
    return [['name', name], ...entries]
  }

  #readList(lines: readonly FrontmatterLine[], place: Place): readonly unknown[] {
    return splitItems(lines).flatMap((item, index): readonly unknown[] => {
      const loaded = this.#load(item, place)
      if (loaded.ok && Array.isArray(loaded.value)) return loaded.value
      const [first, ...rest] = item as readonly [FrontmatterLine, ...FrontmatterLine[]]
      if (!loaded.ok && this.#isRefused(loaded, item)) {
        this.#findings.fail(loaded.fault)
        return []
      }
      const inner = { key: place.key, path: `${place.path}[${index}]`, depth: place.depth + 1 }
      const content = { ...first, text: first.text.replace('-', ' ') }
      if (isField(content)) return [Object.fromEntries(this.readMap([content, ...rest], inner))]
      const text = foldText(content.text.trim(), rest)
      const reason = explainValue(content.text.trim()) ?? (loaded.ok ? '' : loaded.fault.message)
      this.#warnOfValue(first, { path: inner.path, text, reason, outcome: READ_AS_TEXT })
      return [text]
    })
  }

  /**
   * Loads lines of the map or list at a place as YAML. If YAML rejects the lines, loads them again with spaces instead
   * of tabs in the indent. Reports the values in accepted lines that YAML changes.
   */
  #load(lines: readonly FrontmatterLine[], place: Place): LoadedYaml {
    const [first] = lines as readonly [FrontmatterLine, ...FrontmatterLine[]]
    const loaded = this.#loadText(join(lines), first, place)
    if (loaded.ok) return loaded
    const expanded = lines.map(expandTabs)
    if (expanded.every((line, index) => line.text === lines[index]?.text)) return loaded
    const again = this.#loadText(join(expanded), first, place)
    if (!again.ok) return loaded
    this.#findings.warn(
      first,
      'the line, or one below it, is indented by a tab',
      'replace the tabs with spaces',
    )
    return again
  }

  #loadText(text: string, first: FrontmatterLine, { path, depth }: Place): LoadedYaml {
    const firstLine = this.#findings.lineOf(first)
    const loaded = loadYaml(text, { firstLine, maxDepth: MAX_YAML_DEPTH - depth })
    if (loaded.ok) this.#findings.add(describeChangedValues(text, firstLine, path))
    return loaded
  }

  /** True if a field exceeds the YAML limits, which is an error at every depth. */
  #isRefused(loaded: LoadedYaml, lines: readonly FrontmatterLine[]): boolean {
    if (loaded.ok) return false
    if (loaded.reason.includes('maxDepth')) return true
    if (!loaded.reason.includes('maxAliases')) return false
    const references = join(lines).matchAll(/\*([^\s,[\]{}]+)/g)
    return Array.from(references, match => match[1] as string).some(name => this.#anchors.has(name))
  }

  #warnOfValue(line: FrontmatterLine, { path, text, reason, outcome, hidden }: FaultyValue): void {
    const message = `the value of ${quote(path)} is not valid YAML (${reason})${outcome}`
    const closed = findClosedField(path)
    const fix = reason === NO_SPACE ? 'put a space after the colon' : adviseQuotes(path, text)
    if (closed !== undefined) this.#findings.warn(line, message, adviseClosed(closed))
    // Quotation marks around the value would make the field in it ordinary text.
    else
      this.#findings.warn(line, message, hidden === undefined ? fix : `correct the line of "${hidden}" first`)
  }

  #missingSpace({ first }: FieldLines): Diagnostic {
    return toFault(NO_SPACE, 'put a space after the colon', this.#findings.lineOf(first))
  }
}

/** A value that is not valid YAML. */
interface FaultyValue {
  readonly path: string
  readonly text: string
  readonly reason: string
  readonly outcome: string
  /** A deciding field in the lines of the value. */
  readonly hidden?: string | undefined
}

/** Returns the key that YAML reads, without quotation marks, anchors and tags. */
function readKey(key: string): string {
  const loaded = loadYaml(key, { firstLine: 1 })
  return loaded.ok && typeof loaded.value === 'string' ? loaded.value : key
}

function toInner(outer: Place, key: string): Place {
  return { key, path: outer.path === '' ? key : `${outer.path}.${key}`, depth: outer.depth + 1 }
}

function toFault(message: string, fix: string, line: number): Diagnostic {
  return { code: 'YAML_INVALID', severity: 'error', message, line, column: 1, fix }
}

function skipBlank(lines: readonly FrontmatterLine[]): readonly FrontmatterLine[] {
  const start = lines.findIndex(line => !isBlank(line))
  return start === -1 ? [] : lines.slice(start)
}

function join(lines: readonly FrontmatterLine[]): string {
  return lines.map(line => line.text).join('\n')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof SourceScalar)
  )
}
