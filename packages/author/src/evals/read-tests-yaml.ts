import { defined, isRecord, quote, showValue } from '@skillstoke/core/internal'
import { readLinedYaml } from './lined-yaml.ts'
import { readExpectations, suggestKey } from './read-expectations.ts'
import {
  type AnswerTest,
  type Expectation,
  type ReadTests,
  TESTS_FILE,
  type TestFault,
  TRIGGER_KINDS,
  type TriggerKind,
  type TriggerTest,
} from './skill-tests.ts'

/** Reports a mistake in a test or in a section. */
export type Report = (message: string, fix: string) => void

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
  const yaml = readLinedYaml(text)
  if (!yaml.ok) faults.push(toFault(TESTS_FILE, yaml.fault))
  for (const { name, value, line, lineOf } of yaml.ok ? yaml.sections : [])
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

/** Creates a fault from a finding, which may lack a fix. */
export function toFault(
  path: string,
  {
    message,
    line,
    fix = 'correct the text',
  }: Pick<TestFault, 'message' | 'line'> & { readonly fix?: string },
): TestFault {
  return { code: 'TESTS_INVALID', severity: 'warning', message, path, ...defined({ line }), fix }
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
