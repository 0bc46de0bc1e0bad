import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic,
  DiagnosticSeverity,
  type Range,
  type TextEdit,
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

/** Lists the quick fixes for some lines of a document. */
export function listActions({ findings, document }: OpenDocument, { start, end }: Range): CodeAction[] {
  return findings.flatMap(finding => {
    const range = toRange(finding, document)
    const { edit } = finding
    if (edit === undefined || range.start.line > end.line || start.line > range.end.line) return []
    return {
      title: edit.title,
      kind: CodeActionKind.QuickFix,
      edit: { changes: { [document.uri]: edit.edits.map(each => toTextEdit(each, document)) } },
      diagnostics: [toDiagnostic(finding, document)],
      isPreferred: edit.kind === 'auto',
    }
  })
}

function toTextEdit({ start, end, text: newText }: OffsetEdit, document: TextDocument): TextEdit {
  return { range: { start: document.positionAt(start), end: document.positionAt(end) }, newText }
}
