import { EVENT_ID, getScalarValue, parseEvents, SCALAR_STYLE } from 'js-yaml'
import { quote } from '../quote.ts'
import { findClosedField } from './deciding-fields.ts'
import type { Diagnostic } from './diagnostic.ts'
import { SOURCE_SCHEMA, SourceScalar } from './source-scalar.ts'

/** A value without quotation marks: the value of a field, or of a field in `metadata`. */
interface PlainValue {
  readonly path: string
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Only a text with a comment or with a number can contain a value that YAML changes. */
const MAY_CHANGE = /\s#|:\s+[-+.\d]/

/**
 * Reports the plain values that mean something else than their text: a value that a comment cuts, and a number or date
 * that other clients spell differently.
 *
 * @param yaml the text of a map that `loadYaml()` accepts
 */
export function describeChangedValues(yaml: string, firstLine: number): Diagnostic[] {
  if (!MAY_CHANGE.test(yaml)) return []
  const found: Diagnostic[] = []
  for (const value of readPlainValues(yaml)) {
    const finding = describeCut(yaml, value) ?? describeRetyped(value)
    if (finding === undefined) continue
    const before = yaml.slice(0, value.start).split('\n')
    const column = (before.at(-1) ?? '').length + 1
    found.push({ ...finding, line: firstLine + before.length - 1, column })
  }
  return found
}

/** True for the findings of `describeChangedValues()`. */
export function isChangedValue({ code }: Diagnostic): boolean {
  return code === 'VALUE_CUT_BY_COMMENT' || code === 'VALUE_RETYPED'
}

function describeCut(yaml: string, { path, text, end }: PlainValue): Diagnostic | undefined {
  const [, blanks = '', comment] = /^([ \t]+)#([^\n\r]*)/.exec(yaml.slice(end)) ?? []
  if (comment === undefined || findClosedField(path) !== undefined) return undefined
  // In other fields, an author often writes a real comment after a short value.
  const isProse = blanks.length === 1 && text.trim().split(/\s+/).length >= 4
  if (path.toLowerCase() !== 'description' && !isProse) return undefined
  return {
    code: 'VALUE_CUT_BY_COMMENT',
    severity: 'warning',
    message: `the value of ${quote(path)} ends before ${quote(`#${comment}`)}, because " #" starts a comment`,
    fix: `if the "#" belongs to the text, put the value of ${quote(path)} in quotes`,
  }
}

const DATE = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt \t][\d:.]+[ \t]*(?:Z|[-+][\d:]+)?)?$/
const ISO_DATE = /^\d{4}-\d\d-\d\d$/

function describeRetyped({ path, text }: PlainValue): Diagnostic | undefined {
  const { value } = SOURCE_SCHEMA.resolveImplicitScalarTag(text)
  const isNumber = value instanceof SourceScalar && typeof value.value === 'number'
  const isDate = DATE.test(text) && !ISO_DATE.test(text)
  if (isNumber ? String(value.value) === text : !isDate) return undefined
  const shown = isNumber ? `the number ${value.value}` : 'a date'
  return {
    code: 'VALUE_RETYPED',
    severity: 'info',
    message: `the value of ${quote(path)}, ${quote(text)}, is ${shown} in YAML; clients may show another text`,
    fix: 'put the value in double quotes',
  }
}

/** An open map or list. */
interface Frame {
  /** Path in the frontmatter. Absent if the values inside are not checked. */
  readonly path: string | undefined
  readonly isMap: boolean
  /** The key whose value comes next. */
  key: string | undefined
}

/** Yields the plain values of the fields, and of the fields in `metadata`. */
function* readPlainValues(yaml: string): Generator<PlainValue> {
  const frames: Frame[] = []
  for (const event of parseEvents(yaml, {})) {
    const frame = frames.at(-1)
    if (event.type === EVENT_ID.POP) frames.pop()
    else if (event.type === EVENT_ID.SCALAR && frame?.isMap === true && frame.key === undefined)
      frame.key = getScalarValue(yaml, event)
    else {
      // The document and the map with the fields are the first two frames.
      const isValue = frames.length >= 2
      const path = isValue ? toPath(frame) : ''
      if (frame !== undefined) frame.key = undefined
      if (event.type === EVENT_ID.SCALAR) {
        const isPlain = event.style === SCALAR_STYLE.PLAIN && event.valueStart >= 0
        if (isValue && path !== undefined && isPlain)
          yield { path, text: getScalarValue(yaml, event), start: event.valueStart, end: event.valueEnd }
      } else if (event.type !== EVENT_ID.ALIAS)
        frames.push({ path, isMap: event.type === EVENT_ID.MAPPING, key: undefined })
    }
  }
}

function toPath(frame: Frame | undefined): string | undefined {
  if (frame?.path === '') return frame.key
  return frame?.path === 'metadata' && frame.isMap ? `metadata.${frame.key}` : undefined
}
