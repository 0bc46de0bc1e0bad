import { defined, isRecord, quote, showValue } from '@skillstoke/core/internal'
import { readLinedYaml } from './lined-yaml.ts'
import { readExpectations, suggestKey } from './read-expectations.ts'
import {
  type AnswerTest,
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
export function readTestsYaml(text: string, path: string = TESTS_FILE): ReadTests {
  const yaml = readLinedYaml(text)
  if (!yaml.ok) return { triggers: [], answers: [], faults: [toFault(path, yaml.fault)] }
  const triggers: TriggerTest[] = []
  const answers: AnswerTest[] = []
  const faults: TestFault[] = []
  const reportAt =
    (line: number): Report =>
    (message, fix) =>
      faults.push(toFault(path, { message, line, fix }))
  for (const { name, value, line, lineOf } of yaml.sections)
    for (const [index, test] of readList(name, value, reportAt(line)).entries()) {
      const place = { path, line: lineOf(index) }
      const report = reportAt(place.line)
      if (name === 'ask') answers.push(...readAnswer(test, report).map(each => ({ ...each, ...place })))
      else
        triggers.push(
          ...readTrigger(test, report).map(each => ({ kind: name as TriggerKind, ...each, ...place })),
        )
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

function readTrigger(value: unknown, report: Report): readonly Omit<TriggerTest, 'kind' | 'path' | 'line'>[] {
  const { message, ...extra } = isRecord(value) && 'message' in value ? value : { message: value }
  return readMessage(message, report).map(text => ({ message: text, isPrompt: false, extra }))
}

function readAnswer(value: unknown, report: Report): readonly Omit<AnswerTest, 'path' | 'line'>[] {
  const { message, expect: expected, ...others } = isRecord(value) ? value : { message: value }
  for (const key of Object.keys(others))
    report(`${quote(key)} is unknown`, suggestKey(key, ['message', 'expect']))
  const expect = readExpectations(expected, report)
  const messages = readMessage(message, report)
  return expect.length === 0 ? [] : messages.map(text => ({ message: text, expect }))
}

/** Returns a list with the message, or an empty list if it is faulty. */
function readMessage(value: unknown, report: Report): readonly string[] {
  const message = typeof value === 'string' ? value.trim() : undefined
  if (message) return [message]
  if (value == null || message === '') report('the message is empty', 'write a message, or remove the line')
  // YAML reads a message with a colon and a space as a map.
  else report(`the message is read as ${showValue(value, 40)}, not as text`, 'put it in double quotes')
  return []
}
