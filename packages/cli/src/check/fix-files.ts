import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { applyEdits, type Finding, type FindingEdit, type TextEdit } from '@skillstoke/author'
import { digestOf, toMessage } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
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

/** Applies the edits of the findings to the texts on disk, but does not write them. Leaves out a text that is not the checked one. */
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
    const before = isLinked(path) ? undefined : decode(readFileSync(path))
    if (before === undefined) return []
    const digest = digestOf(before, nodeHasher)
    const chosen = chooseEdits(own.filter(({ edit }) => edit?.digest === digest))
    if (chosen.length === 0) return []
    const edits = chosen.flatMap(({ edit }) => edit?.edits ?? [])
    return { path, before, after: applyEdits(before, edits), count: chosen.length }
  })
}

/** Whether a file, or a folder between it and its skill, is a link. The target of a link may be a file outside of the skill. */
export function isLinked(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true
  const folder = dirname(path)
  const isSkill = ['SKILL.md', 'skill.md'].some(name => existsSync(join(folder, name)))
  return folder !== path && !isSkill && isLinked(folder)
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

/**
 * Writes the texts. Leaves out a file that changed since it was read. Returns the written files.
 * @param onFault called for each file that cannot be written
 */
export function writeFixes(
  files: readonly FixedFile[],
  onFault: (message: string) => void,
): readonly FixedFile[] {
  return files.filter(({ path, before, after }) => {
    try {
      if (decode(readFileSync(path)) !== before) return false
      // Keeps the inode and the mode of the file, because editors and links refer to it.
      writeFileSync(path, after, { mode: statSync(path).mode })
      return true
    } catch (thrown) {
      onFault(`${path} cannot be written: ${toMessage(thrown)}`)
      return false
    }
  })
}

export function toPatch({ path, before, after }: FixedFile): string {
  return createTwoFilesPatch(path, path, before, after, '', '', { context: 2 })
}
