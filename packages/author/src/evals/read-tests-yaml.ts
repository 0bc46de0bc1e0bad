import { defined, findNearest, isRecord, quote, showValue } from '@skillstoke/core/internal'
import { readExpectations } from './read-expectations.ts'
import {
  type AnswerTest,
  TESTS_FILE,
  type TestFault,
  TRIGGER_KINDS,
  type TriggerKind,
  type TriggerTest,
} from './skill-tests.ts'
import { type LinedYaml, readLinedYaml, type YamlPath } from './yaml-lines.ts'

const SECTIONS = [...TRIGGER_KINDS, 'ask'] as const
const ANSWER_KEYS = ['message', 'expect'] as const

/** What one file of tests contains. */
export interface ReadTests {
  readonly triggers: readonly TriggerTest[]
  readonly answers: readonly AnswerTest[]
  readonly faults: readonly TestFault[]
}

/** Reports a mistake at a place of the YAML value. */
export type Report = (at: YamlPath, message: string, fix: string) => void

/** Reads the text of `evals/tests.yaml`. A mistake becomes a fault, and the other tests are read. */
export function readTestsYaml(text: string, path: string = TESTS_FILE): ReadTests {
  const yaml = readLinedYaml(text)
  if (!yaml.ok) return { triggers: [], answers: [], faults: [toFault(path, yaml.fault)] }
  return new TestsReader(path, yaml).read()
}

/** A finding without a code and a path. */
type PlainFault = Pick<TestFault, 'message'> & { readonly line?: number; readonly fix?: string }

export function toFault(
  path: string = TESTS_FILE,
  { message, line, fix = 'correct the YAML' }: PlainFault,
): TestFault {
  return { code: 'TESTS_INVALID', severity: 'warning', message, path, ...defined({ line }), fix }
}

class TestsReader {
  readonly #path: string
  readonly #yaml: Extract<LinedYaml, { ok: true }>
  readonly #faults: TestFault[] = []
  readonly #report: Report = (at, message, fix) => {
    this.#faults.push(toFault(this.#path, { message, fix, ...defined({ line: this.#yaml.lineOf(at) }) }))
  }

  constructor(path: string, yaml: Extract<LinedYaml, { ok: true }>) {
    this.#path = path
    this.#yaml = yaml
  }

  read(): ReadTests {
    const all = this.#yaml.value ?? {}
    if (!isRecord(all)) {
      this.#report(
        '',
        `the tests are ${showValue(all, 40)}, not sections`,
        'write "fires:" and "silent:" with a list below each',
      )
      return { triggers: [], answers: [], faults: this.#faults }
    }
    this.#checkKeys(all, SECTIONS, '')
    const triggers = TRIGGER_KINDS.flatMap(kind =>
      this.#readList(all[kind], kind).flatMap((each, index) =>
        this.#readTrigger(each, kind, `/${kind}/${index}`),
      ),
    )
    const answers = this.#readList(all['ask'], 'ask').flatMap((each, index) =>
      this.#readAnswer(each, `/ask/${index}`),
    )
    return { triggers, answers, faults: this.#faults }
  }

  #readList(value: unknown, section: string): readonly unknown[] {
    if (Array.isArray(value)) return value
    if (value != null)
      this.#report(
        `/${section}`,
        `${quote(section)} is ${showValue(value, 40)}, not a list`,
        'start each message with "- " on a line of its own',
      )
    return []
  }

  #readTrigger(value: unknown, kind: TriggerKind, at: YamlPath): readonly TriggerTest[] {
    const { message: written, ...extra } = isRecord(value) && 'message' in value ? value : { message: value }
    const message = this.#readMessage(written, at)
    if (message === undefined) return []
    return [{ kind, message, isPrompt: false, extra, ...this.#placeOf(at) }]
  }

  #readAnswer(value: unknown, at: YamlPath): readonly AnswerTest[] {
    if (!isRecord(value) || !('message' in value)) {
      this.#report(
        at,
        `the test is ${showValue(value, 40)}, without a message`,
        'write "message:" and "expect:" below "ask:"',
      )
      return []
    }
    this.#checkKeys(value, ANSWER_KEYS, at)
    const message = this.#readMessage(value['message'], `${at}/message`)
    const expect = readExpectations(value['expect'], `${at}/expect`, this.#report)
    return message === undefined || expect.length === 0 ? [] : [{ message, expect, ...this.#placeOf(at) }]
  }

  #readMessage(value: unknown, at: YamlPath): string | undefined {
    const message = typeof value === 'string' ? value.trim() : value === null ? '' : undefined
    if (message === undefined)
      this.#report(
        at,
        `the message is read as ${describeType(value)}, not as text`,
        'put the message in double quotes',
      )
    else if (message === '') this.#report(at, 'the message is empty', 'write a message, or remove the line')
    return message || undefined
  }

  #checkKeys(value: Readonly<Record<string, unknown>>, known: readonly string[], at: YamlPath): void {
    for (const key of Object.keys(value).filter(each => !known.includes(each))) {
      const near = findNearest(key, known)
      const fix =
        near === undefined ? `use ${known.map(each => quote(each)).join(', ')}` : `write ${quote(near)}`
      this.#report(`${at}/${key}`, `${quote(key)} is unknown`, fix)
    }
  }

  #placeOf(at: YamlPath): { readonly path: string; readonly line?: number } {
    return { path: this.#path, ...defined({ line: this.#yaml.lineOf(at) }) }
  }
}

/** Says what YAML made of a message. A message that contains a colon and a space becomes a map. */
function describeType(value: unknown): string {
  if (isRecord(value)) return `a map with the key ${quote(Object.keys(value)[0] ?? '')}`
  if (Array.isArray(value)) return 'a list'
  return `the ${typeof value} ${showValue(value, 40)}`
}
