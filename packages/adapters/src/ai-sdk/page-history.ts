import type { SkillSession } from '@skillstoke/core'
import { entriesOfAnswer, ToldHistory, type ToldPart } from '../told-history.ts'
import type { AiTool } from './tools.ts'
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
export class PageHistory {
  readonly #session: SkillSession
  readonly told: ToldHistory<PagePart>

  constructor(session: SkillSession, parts?: readonly PagePart[]) {
    this.#session = session
    this.told = new ToldHistory(session, parts)
  }

  /** Makes the session know what the messages contain, and nothing else. */
  follow(messages: readonly AiMessage[]): void {
    const left = messages.flatMap(listEvidence)
    const there = new Set(
      this.told.parts.filter(({ evidence }) => {
        const index = left.findIndex(each => each.includes(evidence))
        if (index >= 0) left.splice(index, 1)
        return index >= 0
      }),
    )
    if (!this.told.follow(part => there.has(part))) this.told.rewind([...there])
  }

  /** Returns the next notice, which the caller must add to the messages; `undefined` if no skill changed. */
  async takeNotice(): Promise<string | undefined> {
    const offer = await this.#session.offer()
    if (offer === undefined) return undefined
    offer.commit()
    this.told.add({ evidence: offer.text, entries: [offer.entry] })
    return offer.text
  }

  /** Returns the tools, which then note the skills that they load. */
  track(tools: Readonly<Record<string, AiTool>>): Record<string, AiTool> {
    return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.#track(name, tool)]))
  }

  #track(name: string, tool: AiTool): AiTool {
    return {
      ...tool,
      // A tool that streams its progress loads no skill.
      execute: (input, call) => {
        const output = tool.execute(input, call)
        const { toolCallId: evidence } = call
        if (!(output instanceof Promise) || evidence === undefined) return output
        return output.then(answer => {
          const entries = entriesOfAnswer(this.#session, name, answer)
          if (entries.length > 0) this.told.add({ evidence, entries })
          return answer
        })
      },
    }
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
