import type { SessionEntry, SessionState, SkillSession } from '@skillstoke/core'
import type { AiTool } from './tools.ts'
import type { AiMessage } from './turn.ts'

/** A part of the page's messages from which the model knows something about skills. */
export interface ToldPart {
  /** The text of a notice, or the id of the tool call that returned instructions. */
  readonly evidence: string
  readonly entry: SessionEntry
}

/** What the server stores beside the messages of a page. */
export interface PageState {
  /** The state of the session before the parts. */
  readonly session: SessionState
  readonly parts: readonly ToldPart[]
}

/** After this number of parts, a new state replaces them. The page can then no longer take them back. */
const MAX_PARTS = 64

/**
 * The parts of a conversation whose messages a page owns. The page can remove and repeat messages, so each turn compares
 * the parts with the messages that the page sends. Nothing in the messages adds a part.
 */
export class PageHistory {
  readonly #session: SkillSession
  #base: SessionState
  #parts: readonly ToldPart[]
  /** Whether the session knows exactly what the parts say. */
  #isCurrent: boolean

  constructor(session: SkillSession, parts: readonly ToldPart[] = []) {
    this.#session = session
    this.#base = session.state()
    this.#parts = parts
    this.#isCurrent = parts.length === 0
  }

  state(): PageState {
    return { session: this.#base, parts: this.#parts }
  }

  /** Makes the session know what the messages contain, and nothing else. */
  follow(messages: readonly AiMessage[]): void {
    const left = messages.flatMap(listEvidence)
    const kept = this.#parts.filter(({ evidence }) => {
      const index = left.findIndex(each => each.includes(evidence))
      if (index >= 0) left.splice(index, 1)
      return index >= 0
    })
    if (!this.#isCurrent || kept.length < this.#parts.length)
      this.#session.replay(
        this.#base,
        kept.map(({ entry }) => entry),
      )
    this.#isCurrent = true
    this.#parts = kept
    if (kept.length >= MAX_PARTS) this.restart()
  }

  /** Forgets the parts, because the session starts over. */
  restart(): void {
    this.#base = this.#session.state()
    this.#parts = []
  }

  /** Returns the next notice, which the caller must add to the messages; `undefined` if no skill changed. */
  async takeNotice(): Promise<string | undefined> {
    const offer = await this.#session.offer()
    if (offer === undefined) return undefined
    offer.commit()
    this.#parts = [...this.#parts, { evidence: offer.text, entry: offer.entry }]
    return offer.text
  }

  /** Returns the tools, which then note the skills that they load. */
  track(tools: Readonly<Record<string, AiTool>>): Record<string, AiTool> {
    return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.#track(tool)]))
  }

  #track(tool: AiTool): AiTool {
    return {
      ...tool,
      // A tool that streams its progress loads no skill.
      execute: (input, call) => {
        const before = this.#session.ledger.entries()
        const output = tool.execute(input, call)
        if (!(output instanceof Promise) || call.toolCallId === undefined) return output
        return output.then(answer => {
          this.#note(before, call.toolCallId ?? '')
          return answer
        })
      },
    }
  }

  #note(before: readonly unknown[], evidence: string): void {
    const loaded = this.#session.ledger.entries().filter(entry => !before.includes(entry))
    const added = loaded.flatMap(({ name, revision, content }) =>
      content === undefined ? [] : [{ evidence, entry: { kind: 'load', name, revision, content } as const }],
    )
    this.#parts = [...this.#parts, ...added]
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
