import { type PlacedText, textOf } from './messages.ts'
import type { StrandsBlock, StrandsMessage } from './sdk.ts'

/** A text of the adapter in the history of an agent. */
export interface StoredText extends PlacedText {
  /** The skill whose instructions the text contains; absent for a notice. */
  readonly skill?: string
}

type Messages = readonly StrandsMessage[]
type BlockIndex = ReadonlyMap<string, readonly StrandsBlock[]>

/** The value of `characters` for an answer that is not in the history. */
const NOT_STORED = -1

/** Where the notices and the loaded skills of a conversation are in its history. */
export class StoredTexts {
  #texts: readonly StoredText[] = []
  /** The skills that were loaded since the last model call, by the ids of the tool calls. */
  readonly #loads = new Map<string, string>()

  /** Records a text. Of each skill, only the newest text counts. */
  add(text: StoredText): void {
    const others = this.#texts.filter(({ skill }) => skill === undefined || skill !== text.skill)
    this.#texts = [...others, text]
  }

  /** Records a tool call that loaded a skill. Its answer is not in the history yet. */
  addLoad(toolUseId: string, skill: string): void {
    this.#loads.set(toolUseId, skill)
  }

  /** Records the answers to the new loads. Returns `false` if the SDK has dropped these answers. */
  settleLoads(messages: Messages): boolean {
    const loads = this.#measureLoads(messages)
    const stored = loads.filter(({ characters }) => characters !== NOT_STORED)
    for (const load of stored) this.add(load)
    this.#loads.clear()
    return loads.length === 0 || stored.length > 0
  }

  /** True if the history still contains all texts. */
  areIn(messages: Messages): boolean {
    const index = indexBlocks(messages)
    return this.#texts.every(text => isStored(index, text))
  }

  /** Forgets the texts that are no longer in the history, and also all notices if `onlySkills` is true. */
  prune(messages: Messages, onlySkills = false): void {
    const index = indexBlocks(messages)
    this.#texts = this.#texts.filter(
      text => isStored(index, text) && !(onlySkills && text.skill === undefined),
    )
    this.#loads.clear()
  }

  /** Returns the texts to save. A process that resumes them restores the loads whose answers are not stored by then. */
  list(messages: Messages): readonly StoredText[] {
    return [...this.#texts, ...this.#measureLoads(messages)]
  }

  resume(texts: readonly StoredText[]): void {
    this.#texts = texts
    this.#loads.clear()
  }

  #measureLoads(messages: Messages): readonly StoredText[] {
    if (this.#loads.size === 0) return []
    const index = indexBlocks(messages)
    return [...this.#loads].map(([id, skill]) => ({ id, skill, characters: measureResult(index.get(id)) }))
  }
}

/** Returns the blocks of each message by its `trackingId`, and the blocks of each tool call by its `toolUseId`. */
function indexBlocks(messages: Messages): BlockIndex {
  const index = new Map<string, StrandsBlock[]>()
  const add = (id: string, blocks: readonly StrandsBlock[]): void =>
    void index.set(id, [...(index.get(id) ?? []), ...blocks])
  for (const { trackingId, content } of messages) {
    add(trackingId, content)
    for (const block of content) if (block.toolUseId !== undefined) add(block.toolUseId, [block])
  }
  return index
}

/** True if the text is still in the history, and nothing has shortened it. */
function isStored(index: BlockIndex, { id, characters }: StoredText): boolean {
  return index.get(id)?.some(block => textOf(block).length === characters) ?? false
}

function measureResult(blocks: readonly StrandsBlock[] = []): number {
  const result = blocks.find(({ type }) => type === 'toolResultBlock')
  return result === undefined ? NOT_STORED : textOf(result).length
}
