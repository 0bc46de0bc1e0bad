import { foldText } from '@skillstoke/core/internal'
import { stem } from './stem.ts'
import { STOP_WORDS } from './stop-words.ts'

/** Returns the stems of the words that carry meaning, in order, each as often as it occurs. */
export function contentStems(text: string): string[] {
  return splitContent(text).map(stem)
}

/** Returns each stem of a text once, with the spelling of its first occurrence. */
export function spellings(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const word of splitContent(text)) found.set(stem(word), found.get(stem(word)) ?? word)
  return found
}

export function splitWords(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}]+/gu) ?? []
}

function splitContent(text: string): string[] {
  return splitWords(text).filter(word => !STOP_WORDS.has(word))
}
