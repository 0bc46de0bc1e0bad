import { describeConflict } from './conflict-markers.ts'
import type { Diagnostic } from './diagnostic.ts'
import { describeHiddenFile } from './hidden-text.ts'
import { decodePlainText } from './text.ts'

/** Returns the findings about a file of a skill other than SKILL.md. Returns an empty list for a file that is not text. */
export function describeTextFile(path: string, bytes: Uint8Array): Diagnostic[] {
  const conflict = describeConflict(decodePlainText(bytes) ?? '', 'warning')
  const hidden = describeHiddenFile(path, bytes)
  return conflict === undefined ? hidden : [...hidden, { ...conflict, path }]
}
