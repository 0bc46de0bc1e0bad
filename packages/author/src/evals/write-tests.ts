import { isDeepStrictEqual } from 'node:util'
import { defined, isRecord, quote } from '@skillstoke/core/internal'
import { dump } from 'js-yaml'
import { type LinedSection, readLinedYaml } from './lined-yaml.ts'
import { type SkillTests, TESTS_FILE, type TestFault, type TriggerKind, toFault } from './skill-tests.ts'

/** A test to write. `expect` has the fields of `expect:` in the file, for example `{ loads: 'pdf' }`. */
export type NewTest =
  | { readonly kind: TriggerKind; readonly message: string }
  | {
      readonly kind: 'ask'
      readonly message: string
      readonly expect: readonly Readonly<Record<string, unknown>>[]
    }

/** The text with the new test, or why the test could not be added. */
export type AddedTest =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: TestFault }

const OPPOSITES: Readonly<Record<NewTest['kind'], TriggerKind | undefined>> = {
  fires: 'silent',
  silent: 'fires',
  ask: undefined,
}

/**
 * Adds a test at the end of its section of `evals/tests.yaml`. The text of the author stays as it is, comments included. A
 * message that the section has already is not added again.
 *
 * @example
 * ```ts
 * import { addTest } from '@skillstoke/author'
 *
 * const added = addTest('fires:\n  - Fill in this form # real\n', { kind: 'fires', message: 'Sign: the form' })
 * if (added.ok) console.log(added.text.split('\n').at(-2)?.trim()) // prints - 'Sign: the form'
 * ```
 */
export function addTest(text: string, test: NewTest): AddedTest {
  const before = readLinedYaml(text)
  if (before.fault !== undefined) return { ok: false, fault: before.fault }
  const section = before.sections.get(test.kind)
  const messages = messagesOf(section)
  if (messages.includes(test.message)) return { ok: true, text }
  const opposite = OPPOSITES[test.kind]
  if (opposite !== undefined && messagesOf(before.sections.get(opposite)).includes(test.message)) {
    const message = `the message is already in the section ${quote(opposite)}`
    return { ok: false, fault: toFault(TESTS_FILE, { message, fix: 'remove it there first' }) }
  }
  const added = insert(text, test, section)
  const now = messagesOf(readLinedYaml(added).sections.get(test.kind))
  // Proves that the new text has the old tests and the new one, because an author may use any form of YAML.
  if (isDeepStrictEqual(now, [...messages, test.message])) return { ok: true, text: added }
  const message = `no test can be added to the section ${quote(test.kind)} in its present form`
  const fix = 'start each message with "- "'
  return { ok: false, fault: toFault(TESTS_FILE, { message, ...defined({ line: section?.line }), fix }) }
}

/**
 * Returns the messages in the convention of skill-creator, with the fields that other tools wrote.
 *
 * @example
 * ```ts
 * import { readSkillTests, toTriggerEvals } from '@skillstoke/author'
 *
 * const tests = readSkillTests('support-pdf', [{ path: 'evals/tests.yaml', text: 'fires: [Fill in this form]' }])
 * console.log(toTriggerEvals(tests)) // prints [ { query: 'Fill in this form', should_trigger: true } ]
 * ```
 */
export function toTriggerEvals({ triggers }: SkillTests): readonly Readonly<Record<string, unknown>>[] {
  return triggers
    .filter(({ isPrompt }) => !isPrompt)
    .map(({ kind, message, extra }) => ({ query: message, should_trigger: kind === 'fires', ...extra }))
}

function messagesOf(section: LinedSection | undefined): readonly unknown[] {
  const list = Array.isArray(section?.value) ? section.value : []
  return list.map(each => (isRecord(each) ? each['message'] : each))
}

function insert(text: string, test: NewTest, section: LinedSection | undefined): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split(/\r?\n/)
  if (section === undefined) {
    while (lines.at(-1)?.trim() === '') lines.pop()
    return [...lines, `${test.kind}:`, ...toItem(test, '  '), ''].join(newline)
  }
  // Blank lines and comments without indent belong to the next section.
  const kept = section.lines.findLastIndex(line => !/^(?:\s*$|#)/.test(line)) + 1
  const changed = extend(section.lines.slice(0, kept), test)
  return lines.toSpliced(section.line - 1, kept, ...changed).join(newline)
}

/** Returns the lines of a section with one more test. */
function extend(section: readonly string[], test: NewTest): readonly string[] {
  const first = section.slice(1).find(line => /^\s*- /.test(line))
  const item = toItem(test, first?.slice(0, first.indexOf('-')) ?? '  ')
  const text = section.join('\n')
  const end = text.lastIndexOf(']')
  if (first !== undefined || end === -1) return [...section, ...item]
  const before = text.slice(0, end).trimEnd()
  if (before.endsWith('[')) return [before.slice(0, -1).trimEnd(), ...item]
  return `${before.replace(/,$/, '')}, ${JSON.stringify(contentOf(test))}${text.slice(end)}`.split('\n')
}

function toItem(test: NewTest, indent: string): readonly string[] {
  const lines = dump([contentOf(test)], { lineWidth: -1 })
    .trimEnd()
    .split('\n')
  return lines.map(line => `${indent}${line}`.trimEnd())
}

function contentOf(test: NewTest): unknown {
  return test.kind === 'ask' ? { message: test.message, expect: test.expect } : test.message
}
