import type { Diagnostic } from '@skillstoke/core'
import { cutField, cutItem, isRecord, loadYaml, splitEntries } from '@skillstoke/core/internal'
import { CORE_SCHEMA, load } from 'js-yaml'

/** One section of a YAML map, for example `fires:` and its list. */
export interface LinedSection {
  readonly name: string
  /** Number of the line of its name, counted from 1. */
  readonly line: number
  /** Its lines, with comments and blank lines up to the next section. */
  readonly lines: readonly string[]
  readonly value: unknown
  /** Returns the line of an item of its list. An item of a list in brackets has the line of the section. */
  readonly lineOf: (item: number) => number
}

/** A YAML map with the lines of its sections. */
export type LinedYaml =
  | { readonly ok: true; readonly sections: readonly LinedSection[] }
  | { readonly ok: false; readonly fault: Omit<Diagnostic, 'code'> }

/** Reads a map of YAML 1.2 without tags and aliases. A text without any value is an empty map. */
export function readLinedYaml(text: string): LinedYaml {
  if (/^(?:\s*(?:#.*)?(?:\n|$))*$/.test(text)) return { ok: true, sections: [] }
  const checked = loadYaml(text, 1)
  if (!checked.ok) return checked
  const value = load(text, { schema: CORE_SCHEMA })
  const fault = {
    severity: 'error',
    message: 'the tests have no sections',
    line: 1,
    fix: 'write "fires:" with a list below it',
  } as const
  if (!isRecord(value)) return { ok: false, fault }
  const entries = new Map(
    splitEntries(text.split(/\r?\n/), { path: '', line: 1 }, cutField).map(each => [each.key, each]),
  )
  // A map in braces has no lines of its own.
  const sections = Object.entries(value).map(([name, each]) => {
    const { line = 1, lines = [] } = entries.get(name) ?? {}
    const items = splitEntries(lines.slice(1), { path: '', line: line + 1 }, cutItem)
    return { name, line, lines, value: each, lineOf: (item: number) => items[item]?.line ?? line }
  })
  return { ok: true, sections }
}
