import { defined, isRecord, quote, showValue } from '@skillstoke/core/internal'
import { readExpectations, suggestKey } from './read-expectations.ts'
import {
  type AnswerTest,
  type ReadTests,
  TESTS_FILE,
  type TestFault,
  TRIGGER_KINDS,
  type TriggerTest,
} from './skill-tests.ts'
import { readLinedYaml, type YamlPath } from './yaml-lines.ts'

/** Reports a mistake at a place of the YAML value. */
export type Report = (at: YamlPath, message: string, fix: string) => void

type Placed<T> = Omit<T, 'path' | 'line'>

/** Reads the text of `evals/tests.yaml`. A mistake becomes a fault, and the other tests are read. */
export function readTestsYaml(text: string, path: string = TESTS_FILE): ReadTests {
  const yaml = readLinedYaml(text)
  if (!yaml.ok) return { triggers: [], answers: [], faults: [toFault(path, yaml.fault)] }
  const faults: TestFault[] = []
  const lineOf = (at: YamlPath): { readonly line?: number } => defined({ line: yaml.lineOf(at) })
  const report: Report = (at, message, fix) => faults.push(toFault(path, { message, fix, ...lineOf(at) }))
  const sections = readSections(yaml.value ?? {}, report)
  const read = <T>(
    section: string,
    readTest: (value: unknown, at: YamlPath) => Placed<T> | undefined,
  ): readonly T[] =>
    readList(sections[section], section, report).flatMap((each, index) => {
      const at = `/${section}/${index}`
      const test = readTest(each, at)
      return test === undefined ? [] : [{ ...test, path, ...lineOf(at) } as T]
    })
  return {
    triggers: TRIGGER_KINDS.flatMap(kind =>
      read<TriggerTest>(kind, (value, at) => {
        const { message: written, ...extra } =
          isRecord(value) && 'message' in value ? value : { message: value }
        const message = readMessage(written, at, report)
        return message === undefined ? undefined : { kind, message, isPrompt: false, extra }
      }),
    ),
    answers: read<AnswerTest>('ask', (value, at) => readAnswer(value, at, report)),
    faults,
  }
}

/** Creates a fault from a finding, which may lack a fix. */
export function toFault(
  path: string,
  {
    message,
    line,
    fix = 'correct the YAML',
  }: Pick<TestFault, 'message' | 'line'> & Partial<Pick<TestFault, 'fix'>>,
): TestFault {
  return { code: 'TESTS_INVALID', severity: 'warning', message, path, ...defined({ line }), fix }
}

function readSections(all: unknown, report: Report): Readonly<Record<string, unknown>> {
  if (isRecord(all)) {
    checkKeys(all, [...TRIGGER_KINDS, 'ask'], '', report)
    return all
  }
  report('', `the tests are ${showValue(all, 40)}, not sections`, 'write "fires:" with a list below it')
  return {}
}

function readList(value: unknown, section: string, report: Report): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (value != null)
    report(
      `/${section}`,
      `${quote(section)} is ${showValue(value, 40)}, not a list`,
      'start each message with "- "',
    )
  return []
}

function readAnswer(value: unknown, at: YamlPath, report: Report): Placed<AnswerTest> | undefined {
  const fields = isRecord(value) ? value : { message: value }
  checkKeys(fields, ['message', 'expect'], at, report)
  const message = readMessage(fields['message'], `${at}/message`, report)
  const expect = readExpectations(fields['expect'], `${at}/expect`, report)
  return message === undefined || expect.length === 0 ? undefined : { message, expect }
}

function readMessage(value: unknown, at: YamlPath, report: Report): string | undefined {
  const message = typeof value === 'string' ? value.trim() : undefined
  if (value == null || message === '')
    report(at, 'the message is empty', 'write a message, or remove the line')
  // YAML reads a message with a colon and a space as a map.
  else if (message === undefined)
    report(at, `the message is read as ${showValue(value, 40)}, not as text`, 'put it in double quotes')
  return message || undefined
}

function checkKeys(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  at: YamlPath,
  report: Report,
): void {
  for (const key of Object.keys(value))
    if (!known.includes(key)) report(`${at}/${key}`, `${quote(key)} is unknown`, suggestKey(key, known))
}
