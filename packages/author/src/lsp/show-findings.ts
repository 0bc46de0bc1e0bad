import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic,
  DiagnosticSeverity,
  type Range,
} from 'vscode-languageserver/node'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import type { Finding, TextEdit as OffsetEdit } from '../check/finding.ts'
import type { OpenDocument } from './open-skills.ts'

const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  info: DiagnosticSeverity.Information,
} as const

/** Returns a finding about a document as an editor shows it. */
export function toDiagnostic(finding: Finding, document: TextDocument): Diagnostic {
  const { code, severity, message, fix, page } = finding
  return {
    range: toRange(finding, document),
    severity: SEVERITIES[severity],
    source: 'stoke',
    code,
    codeDescription: { href: page },
    message: fix === undefined ? message : `${message}\nfix: ${fix}`,
  }
}

/** Returns the text that the edit of a finding replaces, or the rest of the line. */
function toRange({ line = 1, column = 1, edit }: Finding, document: TextDocument): Range {
  const [first, last] = [edit?.edits[0], edit?.edits.at(-1)]
  if (first !== undefined && last !== undefined)
    return { start: document.positionAt(first.start), end: document.positionAt(last.end) }
  const start = { line: line - 1, character: column - 1 }
  const { length } = document.getText({ start, end: { line, character: 0 } }).trimEnd()
  return { start, end: { ...start, character: start.character + length } }
}

/** Lists the quick fixes for some lines of a document, and the action that applies all automatic edits. */
export function listActions(
  { findings, document }: OpenDocument,
  range: Range,
  wanted: readonly CodeActionKind[] = [CodeActionKind.Empty],
): CodeAction[] {
  const fixes = findings.flatMap(finding => {
    const { edit } = finding
    if (edit === undefined || !overlaps(toRange(finding, document), range)) return []
    return {
      ...toAction(edit.title, CodeActionKind.QuickFix, edit.edits, document),
      diagnostics: [toDiagnostic(finding, document)],
      isPreferred: edit.kind === 'auto',
    }
  })
  const automatic = findings.flatMap(({ edit }) => (edit?.kind === 'auto' ? edit.edits : []))
  const all = toAction(
    'apply all edits that keep the meaning',
    CodeActionKind.SourceFixAll,
    withoutOverlaps(automatic),
    document,
  )
  return [...fixes, ...(automatic.length === 0 ? [] : [all])].filter(({ kind = '' }) =>
    wanted.some(each => each === '' || kind === each || kind.startsWith(`${each}.`)),
  )
}

function toAction(
  title: string,
  kind: CodeActionKind,
  edits: readonly OffsetEdit[],
  document: TextDocument,
): CodeAction {
  const changes = edits.map(({ start, end, text: newText }) => {
    return { range: { start: document.positionAt(start), end: document.positionAt(end) }, newText }
  })
  return { title, kind, edit: { changes: { [document.uri]: changes } } }
}

/** Two edits of one text are not defined if they overlap, so the later one is left to the next run. */
function withoutOverlaps(edits: readonly OffsetEdit[]): readonly OffsetEdit[] {
  const sorted = edits.toSorted((a, b) => a.start - b.start)
  return sorted.filter((edit, index) => index === 0 || (sorted[index - 1]?.end ?? 0) <= edit.start)
}

function overlaps(a: Range, b: Range): boolean {
  return a.start.line <= b.end.line && b.start.line <= a.end.line
}
