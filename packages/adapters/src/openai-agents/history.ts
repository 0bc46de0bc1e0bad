import type { RebaseOptions, SessionState, SkillSession, ToolResult } from '@skillstoke/core'
import { renderRestored } from '../live-conversation.ts'
import {
  containsText,
  findMove,
  type HistoryPlace,
  isSamePlace,
  isUnchanged,
  isUserMessage,
  moveBack,
  placeAt,
  plainTextOf,
  toUserMessage,
} from './place.ts'
import type { OpenaiItem, OpenaiUserMessage } from './sdk.ts'

/** A text about skills that the model received. */
export type KnownText = NoticeText | SlashText | LoadedText

/** A notice, or the instructions that came back after a compaction. The adapter adds it to every request. */
export interface NoticeText extends Revertible {
  readonly kind: 'notice'
  readonly text: string
  readonly place: HistoryPlace
}

/** The instructions of a skill that replace a message in every request, because the user invoked the skill. */
export interface SlashText extends Revertible {
  readonly kind: 'slash'
  readonly skill: string
  readonly text: string
  /** The message of the user. */
  readonly asked: string
  readonly place: HistoryPlace
}

/** The instructions of a skill in the result of a tool call. */
export interface LoadedText extends Revertible {
  readonly kind: 'load'
  readonly skill: string
  readonly callId: string
}

interface Revertible {
  /** The state before the text. Only present until the next turn shows that the host has stored the text. */
  readonly before?: SessionState
}

/** What the adapter stores besides the state of the session. */
export interface HistoryState {
  readonly texts: readonly KnownText[]
  /** The place after the last message of the user. */
  readonly turn?: HistoryPlace
  /** True if the provider stores the history, so that each request contains only new items. */
  readonly isRemote: boolean
}

type Items = readonly OpenaiItem[]
type Woven<Item> = (Item | OpenaiUserMessage)[]

/**
 * The record of the texts about skills in one conversation. Before each model call, compares the record with the history.
 * If the end of the history was removed, reverts the session. If another part was removed, restores the loaded skills.
 */
export class TrackedHistory {
  readonly session: SkillSession
  readonly #options: RebaseOptions | undefined
  #texts: readonly KnownText[]
  #turn: HistoryPlace | undefined
  /** Describes the first item of the history. */
  #start: string | undefined
  #isRemote: boolean
  /** The state before the run that continues the response with this id. */
  #branch: { readonly responseId: string; readonly before: SessionState } | undefined

  constructor(session: SkillSession, options: RebaseOptions | undefined, state?: HistoryState) {
    this.session = session
    this.#options = options
    this.#texts = state?.texts ?? []
    this.#turn = state?.turn
    this.#isRemote = state?.isRemote ?? false
  }

  get texts(): readonly KnownText[] {
    return this.#texts
  }

  get isRemote(): boolean {
    return this.#isRemote
  }

  /** Records that the provider stores the history. */
  useRemote(): void {
    this.#isRemote = true
  }

  state(): HistoryState {
    const first = this.#texts.find(({ before }) => before !== undefined)
    const texts = this.#texts.map(text => (text === first ? text : withoutBefore(text)))
    const turn = this.#turn === undefined ? {} : { turn: this.#turn }
    return { texts, ...turn, isRemote: this.#isRemote }
  }

  /** Returns the items of the next request: the whole history with all notices. */
  async prepare<Item extends OpenaiItem>(items: readonly Item[]): Promise<Woven<Item>> {
    this.#follow(items)
    await this.#checkTexts(items)
    await this.#beginTurn(items)
    const offer = await this.session.offer()
    if (offer !== undefined) {
      this.#add({
        ...{ kind: 'notice', text: offer.text, place: placeAt(items, items.length) },
        before: this.session.state(),
      })
      offer.commit()
    }
    return weave(items, this.#texts)
  }

  /**
   * Returns the items of the next request if the provider stores the history. A run that continues the same response as
   * the run before it replaces that run.
   */
  async prepareRemote<Item extends OpenaiItem>(
    items: readonly Item[],
    responseId: string | undefined,
  ): Promise<Woven<Item>> {
    const last = items.at(-1)
    if (isUserMessage(last)) {
      if (responseId !== undefined && this.#branch?.responseId === responseId)
        this.session.revert(this.#branch.before)
      this.#branch = responseId === undefined ? undefined : { responseId, before: this.session.state() }
      this.session.beginTurn()
      const slash = await this.#expandSlash(last)
      if (slash !== undefined) replaceMessage(last, slash.text)
    }
    const notice = await this.session.update()
    return notice === undefined ? [...items] : [...items, toUserMessage(notice.text)]
  }

  /** Runs the tool that loads skills, and remembers which call returned the instructions. */
  async load(run: () => Promise<ToolResult>, callId: string | undefined): Promise<ToolResult> {
    const before = this.session.state()
    const answer = await run()
    const { isError, skill } = answer
    if (!isError && skill !== undefined && callId !== undefined && !this.#isRemote)
      this.#add({ kind: 'load', skill, callId, before })
    return answer
  }

  /** Starts over with compacted items. Adds the loaded skills that the items do not contain. */
  async restore(items: Items, options: RebaseOptions | undefined = this.#options): Promise<void> {
    const { restore } = await this.session.rebase(options)
    this.#start = placeAt(items, 1).key
    this.#texts = this.#texts.filter(text => text.kind === 'load' && isStored(items, text)).map(withoutBefore)
    const lost = restore.filter(({ text }) => !items.some(item => containsText(item, text)))
    const text = renderRestored(lost)
    if (text === undefined) return
    this.#add({ kind: 'notice', text, place: placeAt(items, items.length) })
  }

  /** Moves all places back if the host removed the start of the history. */
  #follow(items: Items): void {
    const start = placeAt(items, 1).key
    if (start !== this.#start) {
      const places = this.#texts.flatMap(text => (text.kind === 'load' ? [] : [text.place]))
      const move = places.map(place => findMove(items, place)).find(each => each !== undefined) ?? 0
      this.#texts = this.#texts.map(text => movePlace(text, move))
    }
    this.#start = start
  }

  #add(text: KnownText): void {
    this.#texts = [...this.#texts, text]
  }

  /** Reverts to the state before the first lost text, or restores the loaded skills. */
  async #checkTexts(items: Items): Promise<void> {
    const lost = findLost(items, this.#texts)
    const [first] = lost
    if (first === undefined) return
    const end = this.#texts.slice(this.#texts.indexOf(first))
    const isCompacted = lost.length === this.#texts.length && items.some(({ type }) => type === 'compaction')
    if (first.before === undefined || end.length !== lost.length || isCompacted)
      return await this.restore(items)
    this.session.revert(first.before)
    this.#texts = this.#texts.slice(0, -end.length)
  }

  /** Starts a turn if the last message of the user is new. */
  async #beginTurn(items: Items): Promise<void> {
    const index = items.findLastIndex(isUserMessage)
    const asked = items[index]
    const turn = placeAt(items, index + 1)
    if (asked === undefined || isSamePlace(this.#turn, turn)) return
    this.#turn = turn
    this.#texts = this.#texts.map(withoutBefore)
    this.session.beginTurn()
    const slash = index === items.length - 1 ? await this.#expandSlash(asked) : undefined
    if (slash !== undefined) this.#add({ ...slash, place: turn })
  }

  /** Loads the skill of a message that begins with `/` and the skill's name. */
  async #expandSlash(message: OpenaiItem): Promise<Omit<SlashText, 'place'> | undefined> {
    const asked = plainTextOf(message)
    if (!asked.trimStart().startsWith('/')) return undefined
    const before = this.session.state()
    const { text, skill } = await this.session.expandSlash(asked)
    return skill === undefined ? undefined : { kind: 'slash', skill: skill.name, text, asked, before }
  }
}

/** True if the history contains the text, or the place at which the adapter adds the text. */
function isStored(items: Items, text: KnownText): boolean {
  if (text.kind !== 'load') return isUnchanged(items, text.place)
  return items.some(({ callId, type }) => callId === text.callId && type !== 'function_call')
}

function movePlace(text: KnownText, count: number): KnownText {
  return text.kind === 'load' ? text : { ...text, place: moveBack(text.place, count) }
}

/** Returns the texts that the history no longer contains. If a skill was loaded again, its older text may be gone. */
function findLost(items: Items, texts: readonly KnownText[]): readonly KnownText[] {
  const stored = new Set(texts.filter(text => isStored(items, text)))
  const isReplaced = (text: KnownText, index: number): boolean =>
    texts.slice(index + 1).some(later => stored.has(later) && replaces(later, text))
  return texts.filter((text, index) => !stored.has(text) && !isReplaced(text, index))
}

function replaces(later: KnownText, earlier: KnownText): boolean {
  return later.kind !== 'notice' && earlier.kind !== 'notice' && later.skill === earlier.skill
}

/** Changes a message in place, because the SDK recognizes only its own objects. */
function replaceMessage(item: OpenaiItem, content: string): void {
  Object.assign(item, { content })
}

function weave<Item extends OpenaiItem>(items: readonly Item[], texts: readonly KnownText[]): Woven<Item> {
  const woven: Woven<Item>[] = [[], ...items.map(item => [item])]
  const added = texts.filter(text => text.kind !== 'load').filter(text => isStored(items, text))
  for (const { kind, text, place } of added) {
    const message = items[place.index - 1]
    if (kind === 'notice') woven[place.index]?.push(toUserMessage(text))
    else if (message !== undefined) replaceMessage(message, text)
  }
  return woven.flat()
}

function withoutBefore(text: KnownText): KnownText {
  const { before, ...rest } = text
  return before === undefined ? text : rest
}
