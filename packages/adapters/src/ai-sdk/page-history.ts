import { defined } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { ToldHistory, type ToldPart } from '../told-history.ts'
import type { AiMessage } from './turn.ts'

/** A part of the page's messages from which the model knows something about skills. */
export interface PagePart extends ToldPart {
  /** The text of a notice, or the id of the tool call that returned instructions. */
  readonly evidence: string
  /** The request in whose turn the part was added. A part that was removed comes back only behind these messages. */
  readonly after?: { readonly count: number; readonly digest: string }
}

/**
 * The parts of a conversation whose messages a page owns. The page can remove and repeat messages, so each turn compares
 * the parts with the messages that the page sends. Nothing in the messages adds a part.
 */
export class PageHistory extends ToldHistory<PagePart> {
  /** The messages of the newest request. */
  #newest: readonly AiMessage[] = []
  #after: PagePart['after']

  override add(part: PagePart): void {
    super.add({ ...part, ...defined({ after: this.#after }) })
  }

  /**
   * Makes the session know what the messages contain, and nothing else. Starts a turn if they end with a question, and
   * then returns true.
   */
  followPage(messages: readonly AiMessage[]): boolean {
    this.#newest = messages
    const contents = messages.flatMap(listContents)
    const taken = new Set<number>()
    const there = new Set<PagePart>()
    for (const part of this.inSearchOrder()) {
      const index = contents.findIndex((content, at) => !taken.has(at) && isEvidence(content, part))
      if (index === -1 || (part.isRemoved === true && !isBehind(contents, index, part))) continue
      taken.add(index)
      there.add(part)
    }
    const isThere = (part: PagePart): boolean => there.has(part)
    if (!this.follow(isThere)) this.rewind(isThere)
    this.#after = { count: contents.length, digest: digestOf(contents, contents.length) }
    const isNew = this.#endsWithQuestion(messages)
    if (isNew) this.beginTurn()
    return isNew
  }

  /** An approval, or the output of a tool, continues the turn. */
  #endsWithQuestion(messages: readonly AiMessage[]): boolean {
    const answered = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool')
    return messages.slice(answered + 1).some(each => each.role === 'user' && !this.#isNotice(each))
  }

  #isNotice(message: AiMessage): boolean {
    return listContents(message).every(content =>
      this.parts.some(part => isNotice(part) && isEvidence(content, part)),
    )
  }

  /**
   * Returns the next notice, which the caller must add to the messages; `undefined` if no skill changed. A request that
   * still runs after the page sent the next one gets no notice, because the page drops its answer.
   */
  async takePageNotice(messages: readonly AiMessage[]): Promise<string | undefined> {
    const offer = await this.session.offer()
    if (offer === undefined || messages !== this.#newest) return undefined
    offer.commit()
    this.add({ evidence: offer.text, entries: [offer.entry] })
    return offer.text
  }
}

/** The part of a content part of a message that the adapter uses. */
interface Content {
  readonly type: string
  readonly text?: unknown
  readonly toolCallId?: unknown
  readonly output?: { readonly type: string }
}

/** True if the evidence is behind the messages of the turn in which the part was added. */
function isBehind(contents: readonly Content[], index: number, { after }: PagePart): boolean {
  return after !== undefined && index >= after.count && digestOf(contents, after.count) === after.digest
}

function digestOf(contents: readonly Content[], count: number): string {
  return portableHasher.sha256(JSON.stringify(contents.slice(0, count)))
}

function listContents({ content }: AiMessage): readonly Content[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as readonly Content[]) : []
}

function isNotice({ entries }: PagePart): boolean {
  return entries.some(({ kind }) => kind === 'notice')
}

function isEvidence({ type, text, toolCallId, output }: Content, part: PagePart): boolean {
  // A page may replace an answer by an error, which contains no instructions.
  const isError = output?.type.startsWith('error') === true
  if (!isNotice(part)) return type === 'tool-result' && toolCallId === part.evidence && !isError
  return typeof text === 'string' && text.includes(part.evidence)
}
