import { quote } from '../quote.ts'
import type { Diagnostic, Severity } from './diagnostic.ts'

const START = /^<{7}(?: |\r?$)/
const MIDDLE = /^={7}\r?$/
const END = /^>{7}(?: |\r?$)/
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*)/
const MAX_QUOTED = 60

/**
 * Returns the finding about the first merge conflict that git left in a text: the three markers in their order, each at
 * the start of a line. Ignores conflicts that start in a code fence, because skills explain merge conflicts in such fences.
 * A conflict that starts outside may contain whole fences or parts of them.
 */
export function describeConflict(text: string, severity: Severity): Diagnostic | undefined {
  if (!/^<{7}/m.test(text)) return undefined
  let fence: string | undefined
  let start: { readonly line: number; readonly text: string; readonly hasMiddle: boolean } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, mark, info = ''] = FENCE.exec(line) ?? []
    if (mark !== undefined) fence = toOpenFence(fence, mark, info.trim())
    if (START.test(line))
      start = fence === undefined ? { line: index + 1, text: line.trimEnd(), hasMiddle: false } : undefined
    else if (MIDDLE.test(line) && start !== undefined) start = { ...start, hasMiddle: true }
    else if (END.test(line) && start?.hasMiddle === true) return toDiagnostic(start, severity)
  }
  return undefined
}

/** Returns the fence that is open after a line with a fence. Only a line without other text closes a fence. */
function toOpenFence(open: string | undefined, mark: string, info: string): string | undefined {
  if (open === undefined) return mark
  return info === '' && mark.startsWith(open) ? undefined : open
}

function toDiagnostic(start: { line: number; text: string }, severity: Severity): Diagnostic {
  return {
    code: 'CONFLICT_MARKERS',
    severity,
    message: `${quote(start.text, MAX_QUOTED)} starts a merge conflict that is not resolved`,
    line: start.line,
    column: 1,
    fix: 'keep one of the two versions, and delete the lines "<<<<<<<", "=======" and ">>>>>>>"',
  }
}
