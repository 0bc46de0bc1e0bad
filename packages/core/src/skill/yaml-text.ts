import { load, YAMLException } from 'js-yaml'
import type { Diagnostic } from './diagnostic.ts'
import { SOURCE_SCHEMA } from './source-scalar.ts'

/** The greatest allowed depth of nested maps and lists. */
export const MAX_YAML_DEPTH = 16

export type LoadedYaml =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly fault: Diagnostic
      /** The message of the YAML parser. The message names the exceeded limit. */
      readonly reason: string
    }

export interface LoadYamlOptions {
  /** Number of the line in the file on which the text starts, counted from 1. */
  readonly firstLine: number
  /** @default MAX_YAML_DEPTH */
  readonly maxDepth?: number
}

/**
 * Loads YAML 1.2 with the core schema: no custom tags, no aliases, a bounded depth. Numbers and booleans are loaded as
 * `SourceScalar`.
 */
export function loadYaml(yaml: string, options: LoadYamlOptions): LoadedYaml {
  const { firstLine, maxDepth = MAX_YAML_DEPTH } = options
  try {
    return { ok: true, value: load(yaml, { schema: SOURCE_SCHEMA, maxAliases: 0, maxDepth }) }
  } catch (thrown) {
    return { ok: false, fault: toYamlDiagnostic(thrown, yaml, firstLine), reason: reasonOf(thrown) }
  }
}

/** Returns the diagnostic for an error of js-yaml. js-yaml counts lines and columns from 0. */
function toYamlDiagnostic(thrown: unknown, yaml: string, firstLine: number): Diagnostic {
  const unclosed = findUnclosed(yaml)
  if (unclosed !== undefined) {
    return {
      code: 'YAML_INVALID',
      severity: 'error',
      message: `the ${unclosed.opener} that opens the value of "${unclosed.key}" is never closed`,
      line: firstLine + unclosed.line,
      column: unclosed.column,
      fix: 'close it at the end of the value, or remove it',
    }
  }
  const reason = reasonOf(thrown)
  const mark = thrown instanceof YAMLException ? thrown.mark : undefined
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(reason))
  return {
    code: 'YAML_INVALID',
    severity: 'error',
    message: known === undefined ? reason : `${reason}: ${known[1]}`,
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

const EXPLANATIONS: readonly (readonly [pattern: RegExp, meaning: string, fix: string])[] = [
  [
    /mapping is not allowed|bad indentation of a mapping/,
    'usually an unquoted ": " inside a value, or text after a closing bracket or quotation mark',
    'put the value in double quotes',
  ],
  [/duplicated mapping key/, 'the field occurs twice', 'keep one of the two'],
  [/maxAliases/, 'references ("*name") are not read', 'write the value out'],
  [/unknown .*tag/, 'tags ("!name") are not read', 'remove the tag'],
  [/tab/i, 'YAML is indented by spaces', 'replace the tabs with spaces'],
]

const CLOSED: Readonly<Record<string, RegExp>> = {
  '"': /"(?:[^"\\]|\\.)*"/sy,
  "'": /'(?:[^']|'')*'/y,
}

/** Finds a top-level value that opens a quotation or a collection and never closes it. */
function findUnclosed(
  yaml: string,
): { key: string; opener: string; line: number; column: number } | undefined {
  const lasts: Readonly<Record<string, number>> = { '[': yaml.lastIndexOf(']'), '{': yaml.lastIndexOf('}') }
  let start = 0
  for (const [index, line] of yaml.split('\n').entries()) {
    const [, head, key, opener] = /^(([A-Za-z_][\w.-]*)[ \t]*:[ \t]+)(["'[{])/.exec(line) ?? []
    if (head !== undefined && key !== undefined && opener !== undefined) {
      const at = start + head.length
      if (!isClosed(yaml, at, opener, lasts[opener])) {
        const shown = /["']/.test(opener) ? 'quotation mark' : `"${opener}"`
        return { key, opener: shown, line: index, column: head.length + 1 }
      }
    }
    start += line.length + 1
  }
  return undefined
}

function isClosed(yaml: string, at: number, opener: string, lastCloser: number | undefined): boolean {
  if (lastCloser !== undefined) return lastCloser > at
  const pattern = CLOSED[opener] as RegExp
  pattern.lastIndex = at
  return pattern.test(yaml)
}
