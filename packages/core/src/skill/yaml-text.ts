import { load, YAMLException } from 'js-yaml'
import type { Diagnostic } from './diagnostic.ts'
import { SOURCE_SCHEMA } from './source-scalar.ts'

/** The greatest allowed depth of nested maps and lists. */
const MAX_YAML_DEPTH = 16

export type LoadedYaml =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly fault: Diagnostic
      /** The message of the YAML parser. The message names the exceeded limit. */
      readonly reason: string
    }

/**
 * Loads YAML 1.2 with the core schema: no custom tags, no aliases, a bounded depth. Numbers and booleans are loaded as
 * `SourceScalar`.
 *
 * @param firstLine number of the line in the file on which the text starts, counted from 1
 */
export function loadYaml(yaml: string, firstLine: number): LoadedYaml {
  try {
    return { ok: true, value: load(yaml, { schema: SOURCE_SCHEMA, maxAliases: 0, maxDepth: MAX_YAML_DEPTH }) }
  } catch (thrown) {
    return { ok: false, fault: toYamlDiagnostic(thrown, firstLine), reason: reasonOf(thrown) }
  }
}

/** Returns the diagnostic for an error of js-yaml. js-yaml counts lines and columns from 0. */
function toYamlDiagnostic(thrown: unknown, firstLine: number): Diagnostic {
  const reason = reasonOf(thrown)
  const mark = thrown instanceof YAMLException ? thrown.mark : undefined
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(reason))
  return {
    code: 'YAML_INVALID',
    severity: 'error',
    message: known?.[1] ?? 'the line is not valid YAML',
    line: firstLine + (mark?.line ?? 0),
    column: (mark?.column ?? 0) + 1,
    fix:
      known?.[2] ??
      'write one "key: value" a line, nested ones indented by two spaces, and quote unusual values',
  }
}

// For a few broken inputs, js-yaml throws plain errors. A fault in a skill's text must not look like a fault in this
// library.
function reasonOf(thrown: unknown): string {
  return thrown instanceof YAMLException ? thrown.reason : String(thrown)
}

// The messages of js-yaml use words of its source code. The first pattern that matches explains the fault.
const EXPLANATIONS: readonly (readonly [pattern: RegExp, meaning: string, fix: string])[] = [
  [
    /duplicated mapping key/,
    'the field occurs twice',
    'keep the first of the two; of a field that restricts the skill, the stricter',
  ],
  [/alias/, 'references ("*name") are not read', 'write the value out, or put it in double quotes'],
  [/\btag\b|\bTAG\b/, 'tags ("!name") are not read', 'remove the tag, or put the value in double quotes'],
  [
    /anchor/,
    'the "&" at the start of a value has a meaning in YAML',
    'put the value in double quotes, or remove the "&"',
  ],
  [
    /maxDepth/,
    `values are nested more than ${MAX_YAML_DEPTH} levels deep`,
    'use fewer levels of lists and fields',
  ],
  [/non-printable/, 'the text contains a control character', 'delete the control character'],
  [/tab characters/, 'the line is indented by a tab', 'replace the tabs with spaces'],
  [
    /escape sequence|hexadecimal/,
    'a backslash in the double quotes starts no known escape',
    'put the value in single quotes, or write each backslash twice',
  ],
  [
    /deficient indentation|within a (?:single|double) quoted|stream within a flow/,
    'a quotation mark or bracket is never closed, or its value continues on a line that is not indented',
    'close it at the end of the value, and indent each further line of the value by two spaces',
  ],
  [
    /flow collection|node content/,
    'a list or map in brackets is incomplete',
    'close the bracket and separate the entries by commas, or put the value in double quotes',
  ],
  [
    /chomping|indentation width|line break is expected/,
    'other text follows the "|" or ">" that starts a block of text',
    'put the text on the lines below, indented by two spaces',
  ],
  [/sequence entry/, 'the items of a list start in different columns', 'indent all items equally'],
  [/complex keys/, 'a key is a list or a map', 'write a key of letters, digits and hyphens'],
  [
    /directive|single document|%YAML/,
    'a line "...", or a line that starts with "%", ends the fields',
    'remove the line',
  ],
  [
    /multiline key|after a mapping key|document separator/,
    'the line is no field, because it has no key and colon',
    'write "key: value", or indent the line if it belongs to the value above',
  ],
  [
    /mapping is not allowed|bad indentation of a mapping/,
    'the line has an unquoted ": ", a sign such as "@" at the start of a value, text after a bracket or quotation mark, or a wrong indent',
    'put the value in double quotes, or in single quotes if it has double quotes',
  ],
]
