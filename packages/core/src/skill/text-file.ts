import { describeConflict } from './conflict-markers.ts'
import type { Diagnostic } from './diagnostic.ts'
import { describeHiddenText } from './hidden-text.ts'
import { decodeReadableText } from './text.ts'

/** Returns the findings about a file of a skill other than SKILL.md. Returns an empty list for a file that is not text. */
export function describeTextFile(path: string, bytes: Uint8Array): Diagnostic[] {
  const text = decodeReadableText(bytes)
  if (text === undefined) return []
  const conflict = describeConflict(text, 'warning')
  const found = [...describeHiddenText(text), ...(conflict === undefined ? [] : [conflict])]
  return found.map(each => ({ ...each, path }))
}
