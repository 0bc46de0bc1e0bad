import type { ToldPart } from '../told-history.ts'
import { type PlacedText, textOf } from './messages.ts'
import type { StrandsMessage } from './sdk.ts'

/** A text of the adapter in the history of an agent. */
export interface StoredText extends ToldPart, PlacedText {}

/** The lengths of the texts of each message by its `trackingId`, and of each tool result by its `toolUseId`. */
export type TextIndex = ReadonlyMap<string, readonly number[]>

export function indexTexts(messages: readonly StrandsMessage[]): TextIndex {
  const index = new Map<string, number[]>()
  for (const { trackingId, content } of messages)
    for (const block of content) {
      const ids = [trackingId, ...(block.type === 'toolResultBlock' ? [block.toolUseId ?? ''] : [])]
      for (const id of ids) index.set(id, [...(index.get(id) ?? []), textOf(block).length])
    }
  return index
}

/** True if the text is still in the history, and nothing has shortened it. */
export function isStored(index: TextIndex, { id, characters }: StoredText): boolean {
  return index.get(id)?.includes(characters) ?? false
}
