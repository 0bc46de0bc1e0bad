import { findNearest, isRecord, quote, quoteAll, showValue } from '@skillstoke/core/internal'
import { readLinedYaml } from './lined-yaml.ts'
import {
  type AnswerTest,
  EXPECTATION_KINDS,
  type Expectation,
  type ReadTests,
  TESTS_FILE,
  type TestFault,
  TRIGGER_KINDS,
  type TriggerKind,
  type TriggerTest,
  toFault,
} from './skill-tests.ts'

/** Reports a mistake in a test or in a section. */
type Report = (message: string, fix: string) => void

const SECTIONS = [...TRIGGER_KINDS, 'ask']

/** Reads the text of `evals/tests.yaml`. A mistake becomes a fault, and the other tests are read. */
export function readTestsYaml(text: string): ReadTests {
  const triggers: TriggerTest[] = []
  const answers: AnswerTest[] = []
  const faults: TestFault[] = []
  const reportAt =
    (line: number): Report =>
    (message, fix) =>
      faults.push(toFault(TESTS_FILE, { message, line, fix }))
  const { sections, fault } = readLinedYaml(text)
  if (fault !== undefined) faults.push(fault)
  for (const [name, { value, line, lineOf }] of sections)
    for (const [index, test] of readList(name, value, reportAt(line)).entries()) {
      const place = { path: TESTS_FILE, line: lineOf(index) }
      const report = reportAt(place.line)
      const isMap = isRecord(test) && (name === 'ask' || 'message' in test)
      const { message: given, ...extra } = isMap ? test : { message: test }
      const expect = name === 'ask' ? readExpected(extra, report) : []
      const message = readMessage(given, report)
      if (message === undefined) continue
      if (name !== 'ask')
        triggers.push({ kind: name as TriggerKind, message, isPrompt: false, extra, ...place })
      else if (expect.length > 0) answers.push({ message, expect, ...place })
    }
  return { triggers, answers, faults }
}

function readList(section: string, value: unknown, report: Report): readonly unknown[] {
  if (!SECTIONS.includes(section)) report(`${quote(section)} is unknown`, suggestKey(section, SECTIONS))
  else if (Array.isArray(value)) return value
  else if (value != null)
    report(`${quote(section)} is ${showValue(value, 40)}, not a list`, 'start each message with "- "')
  return []
}

function readExpected(fields: Readonly<Record<string, unknown>>, report: Report): readonly Expectation[] {
  const { expect: expected, ...others } = fields
  for (const key of Object.keys(others))
    report(`${quote(key)} is unknown`, suggestKey(key, ['message', 'expect']))
  return readExpectations(expected, report)
}

function readMessage(value: unknown, report: Report): string | undefined {
  const message = typeof value === 'string' ? value.trim() : undefined
  if (message) return message
  if (value == null || message === '') report('the message is empty', 'write a message, or remove the line')
  // YAML reads a message with a colon and a space as a map.
  else report(`the message is read as ${showValue(value, 40)}, not as text`, 'put it in double quotes')
  return undefined
}

/** Reads what an answer must have: one map, or a list of maps. */
function readExpectations(value: unknown, report: Report): readonly Expectation[] {
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
function suggestKey(key: string, known: readonly string[]): string {
  const near = findNearest(key, known)
  return near === undefined ? `use one of ${quoteAll(known)}` : `write ${quote(near)}`
}
