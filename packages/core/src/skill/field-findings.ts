import { quote } from '../quote.ts'
import { adviseClosed, findClosedField, findDecidingKey } from './deciding-fields.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { FrontmatterLine } from './frontmatter-lines.ts'

/** Collects the tolerated faults of a frontmatter, and the first fault that is not tolerated. */
export class FieldFindings {
  readonly #firstLine: number
  readonly #warnings: Diagnostic[] = []
  /** Lines that look like a deciding field but were read as part of another field. */
  readonly #lost = new Map<string, FrontmatterLine>()
  #error: Diagnostic | undefined

  constructor(firstLine: number) {
    this.#firstLine = firstLine
  }

  get hasError(): boolean {
    return this.#error !== undefined
  }

  get diagnostics(): readonly Diagnostic[] {
    const error = this.#error === undefined ? [] : [this.#error]
    return [...this.#warnings, ...error].sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
  }

  /** Returns the number of a line in the file, counted from 1. */
  lineOf(line: FrontmatterLine): number {
    return this.#firstLine + line.index
  }

  warn(line: FrontmatterLine, message: string, fix: string): void {
    this.#warnings.push({
      code: 'YAML_REPAIRED',
      severity: 'warning',
      message,
      line: this.lineOf(line),
      column: 1,
      fix,
    })
  }

  /** Adds findings about fields that YAML accepts. */
  add(findings: readonly Diagnostic[]): void {
    this.#warnings.push(...findings)
  }

  fail(fault: Diagnostic): void {
    this.#error ??= fault
  }

  /** Remembers each deciding field in lines that were read as part of another field. */
  noteLost(lines: readonly FrontmatterLine[]): void {
    for (const line of lines) {
      const key = findDecidingKey(line.text)
      if (key !== undefined && !this.#lost.has(key)) this.#lost.set(key, line)
    }
  }

  /** Gives every remembered deciding field its strictest value. */
  closeLost(fields: Map<string, unknown>): void {
    for (const [key, line] of this.#lost) {
      const closed = findClosedField(key)
      const spellings = [...fields.keys()].filter(other => other.toLowerCase() === key)
      for (const spelling of [key, ...spellings]) fields.set(spelling, closed?.value)
      this.warn(
        line,
        `the line is part of another field, so ${quote(key)} is unclear and ${closed?.meaning}`,
        closed === undefined ? 'start the line in the column of the other fields' : adviseClosed(closed),
      )
    }
  }
}
