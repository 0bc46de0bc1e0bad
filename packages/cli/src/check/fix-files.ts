import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { applyEdits, type Finding, type FindingEdit, type TextEdit } from '@skillstoke/author'
import { createTwoFilesPatch } from 'diff'
import { decode } from './check-report.ts'

/** One file after its automatic edits. */
export interface FixedFile {
  readonly path: string
  readonly before: string
  readonly after: string
  /** Number of findings that the edits correct. */
  readonly count: number
}

/** Applies the edits of the findings to the texts on disk, but does not write them. */
export function planFixes(
  findings: readonly Finding[],
  kinds: readonly FindingEdit['kind'][] = ['auto'],
): readonly FixedFile[] {
  const byFile = Map.groupBy(
    findings.filter(
      ({ path, edit }) => path !== undefined && edit !== undefined && kinds.includes(edit.kind),
    ),
    ({ path }) => path as string,
  )
  return [...byFile].flatMap(([path, own]) => {
    const before = decode(readFileSync(path))
    if (before === undefined) return []
    const chosen = chooseEdits(own)
    const edits = chosen.flatMap(({ edit }) => edit?.edits ?? [])
    return { path, before, after: applyEdits(before, edits), count: chosen.length }
  })
}

/** Leaves out edits that overlap an earlier one. The next run applies them. */
function chooseEdits(findings: readonly Finding[]): readonly Finding[] {
  const taken: TextEdit[] = []
  return findings.filter(({ edit }) => {
    const own = edit?.edits ?? []
    const isFree = own.every(each => taken.every(other => each.end <= other.start || each.start >= other.end))
    if (isFree) taken.push(...own)
    return isFree
  })
}

/** Writes the texts. Leaves out a file that changed since it was read. Returns the written files. */
export function writeFixes(files: readonly FixedFile[]): readonly FixedFile[] {
  return files.filter(({ path, before, after }) => {
    if (decode(readFileSync(path)) !== before) return false
    // Keeps the inode and the mode of the file, because editors and links refer to it.
    writeFileSync(path, after, { mode: statSync(path).mode })
    return true
  })
}

export function toPatch({ path, before, after }: FixedFile): string {
  return createTwoFilesPatch(path, path, before, after, '', '', { context: 2 })
}
