import { cutField, cutItem, isRecord, loadYaml, splitEntries } from '@skillstoke/core/internal'
import { CORE_SCHEMA, load } from 'js-yaml'
import { TESTS_FILE, type TestFault, toFault } from './skill-tests.ts'

/** One section of `evals/tests.yaml`, for example `fires:` and its list. */
export interface LinedSection {
  /** Number of the line of its name, counted from 1. */
  readonly line: number
  /** Its lines, with comments and blank lines up to the next section. */
  readonly lines: readonly string[]
  readonly value: unknown
  /** Returns the line of an item of its list. An item of a list in brackets has the line of the section. */
  readonly lineOf: (item: number) => number
}

/** The sections by name. */
export interface LinedYaml {
  readonly sections: ReadonlyMap<string, LinedSection>
  /** Why the text cannot be read. */
  readonly fault?: TestFault
}

/** Reads a map of YAML 1.2 without tags and aliases. A text without any value is an empty map. */
export function readLinedYaml(text: string): LinedYaml {
  if (text.split('\n').every(line => /^(?:#|$)/.test(line.trim()))) return { sections: new Map() }
  const checked = loadYaml(text, 1)
  if (!checked.ok) return { sections: new Map(), fault: toFault(TESTS_FILE, checked.fault) }
  const value = load(text, { schema: CORE_SCHEMA })
  if (!isRecord(value)) {
    const fault = {
      message: 'the tests have no sections',
      line: 1,
      fix: 'write "fires:" with a list below it',
    }
    return { sections: new Map(), fault: toFault(TESTS_FILE, fault) }
  }
  const entries = splitEntries(text.split(/\r?\n/), { path: '', line: 1 }, cutField)
  const sections = Object.entries(value).map(([name, each]) => {
    // A map in braces has no lines of its own.
    const { line = 1, lines = [] } = entries.find(({ key }) => key === name) ?? {}
    const items = splitEntries(lines.slice(1), { path: '', line: line + 1 }, cutItem)
    return [name, { line, lines, value: each, lineOf: (item: number) => items[item]?.line ?? line }] as const
  })
  return { sections: new Map(sections) }
}
