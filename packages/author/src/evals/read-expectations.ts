import { findNearest, isRecord, quote, quoteAll, showValue } from '@skillstoke/core/internal'
import type { Report } from './read-tests-yaml.ts'
import { EXPECTATION_KINDS, type Expectation } from './skill-tests.ts'
import type { YamlPath } from './yaml-lines.ts'

/** Reads what an answer must have: one map, or a list of maps. */
export function readExpectations(value: unknown, at: YamlPath, report: Report): readonly Expectation[] {
  if (Array.isArray(value))
    return value.flatMap((each, index) => readExpectations(each, `${at}/${index}`, report))
  if (isRecord(value))
    return Object.entries(value).flatMap(([key, each]) => readOne(key, each, `${at}/${key}`, report))
  const found = value == null ? 'the test expects nothing' : `${showValue(value, 40)} is no expectation`
  report(at, found, 'write for example "contains: text" below "expect:"')
  return []
}

function readOne(key: string, value: unknown, at: YamlPath, report: Report): readonly Expectation[] {
  const kind = EXPECTATION_KINDS.find(each => each === key)
  if (kind === undefined) {
    report(at, `${quote(key)} is no kind of expectation`, suggestKey(key, EXPECTATION_KINDS))
    return []
  }
  if (kind === 'json') return [{ kind, value }]
  const fault =
    typeof value === 'string'
      ? findPatternFault(kind, value)
      : `${quote(kind)} is ${showValue(value, 40)}, not text`
  if (fault === undefined) return [{ kind, text: value as string }]
  const fix =
    typeof value === 'string'
      ? 'correct it, or use "contains"'
      : `put the value of ${quote(kind)} in double quotes`
  report(at, fault, fix)
  return []
}

function findPatternFault(kind: Expectation['kind'], text: string): string | undefined {
  if (text.trim() === '') return `${quote(kind)} is empty`
  if (kind !== 'matches') return undefined
  try {
    new RegExp(text, 'u')
    return undefined
  } catch (thrown) {
    const reason = (thrown as SyntaxError).message.replace(/^.*: /, '').toLowerCase()
    return `${quote(text)} is no regular expression: ${reason}`
  }
}

/** Says which key to write in place of an unknown one. */
export function suggestKey(key: string, known: readonly string[]): string {
  const near = findNearest(key, known)
  return near === undefined ? `use one of ${quoteAll(known)}` : `write ${quote(near)}`
}
