import { findNearest, isRecord, quote, quoteAll, showValue } from '@skillstoke/core/internal'
import type { Report } from './read-tests-yaml.ts'
import { EXPECTATION_KINDS, type Expectation } from './skill-tests.ts'

/** Reads what an answer must have: one map, or a list of maps. */
export function readExpectations(value: unknown, report: Report): readonly Expectation[] {
  if (Array.isArray(value)) return value.flatMap(each => readExpectations(each, report))
  if (isRecord(value)) return Object.entries(value).flatMap(([key, each]) => readOne(key, each, report))
  const found = value == null ? 'the test expects nothing' : `${showValue(value, 40)} is no expectation`
  report(found, 'write for example "contains: text" below "expect:"')
  return []
}

function readOne(key: string, value: unknown, report: Report): readonly Expectation[] {
  const kind = EXPECTATION_KINDS.find(each => each === key)
  if (kind === 'json') return [{ kind, value }]
  if (kind === undefined)
    report(`${quote(key)} is no kind of expectation`, suggestKey(key, EXPECTATION_KINDS))
  else if (typeof value !== 'string' || value.trim() === '')
    report(
      `${quote(kind)} is ${showValue(value, 40)}, not text`,
      `put the value of ${quote(kind)} in double quotes`,
    )
  else {
    const fault = kind === 'matches' ? findPatternFault(value) : undefined
    if (fault === undefined) return [{ kind, text: value }]
    report(`${quote(value)} is no regular expression: ${fault}`, 'correct it, or use "contains"')
  }
  return []
}

function findPatternFault(text: string): string | undefined {
  try {
    new RegExp(text, 'u').test('')
    return undefined
  } catch (thrown) {
    return (thrown as SyntaxError).message.replace(/^.*: /, '').toLowerCase()
  }
}

/** Says which key to write in place of an unknown one. */
export function suggestKey(key: string, known: readonly string[]): string {
  const near = findNearest(key, known)
  return near === undefined ? `use one of ${quoteAll(known)}` : `write ${quote(near)}`
}
