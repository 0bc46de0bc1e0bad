import { ToldHistory, type ToldPart } from '../told-history.ts'
import type { AiMessage } from './turn.ts'

/** A part of the page's messages from which the model knows something about skills. */
export interface PagePart extends ToldPart {
  /** The text of a notice, or the id of the tool call that returned instructions. */
  readonly evidence: string
}

/**
 * The parts of a conversation whose messages a page owns. The page can remove and repeat messages, so each turn compares
 * the parts with the messages that the page sends. Nothing in the messages adds a part.
 */
export class PageHistory extends ToldHistory<PagePart> {
  /** Makes the session know what the messages contain, and nothing else. */
  followPage(messages: readonly AiMessage[]): void {
    const left = messages.flatMap(listEvidence)
    const there = new Set(
      this.parts.filter(({ evidence }) => {
        const index = left.findIndex(each => each.includes(evidence))
        if (index >= 0) left.splice(index, 1)
        return index >= 0
      }),
    )
    if (!this.follow(part => there.has(part))) this.rewind([...there])
  }

  /** Returns the next notice, which the caller must add to the messages; `undefined` if no skill changed. */
  async takePageNotice(): Promise<string | undefined> {
    const { text, entries } = (await this.takeNotice()) ?? {}
    if (text !== undefined && entries !== undefined) this.add({ evidence: text, entries })
    return text
  }
}

/** Returns the texts of a message and the ids of the tool calls whose results it contains. */
function listEvidence({ content }: AiMessage): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return (content as readonly Readonly<Record<string, unknown>>[]).flatMap(({ type, text, toolCallId }) =>
    [text, type === 'tool-result' ? toolCallId : undefined].filter(each => typeof each === 'string'),
  )
}
