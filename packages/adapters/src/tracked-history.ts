import type { RebaseOptions, SessionState, SkillSession } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import {
  type AddedMessage,
  containsText,
  findMove,
  type HistoryItem,
  type HistoryPlace,
  isSamePath,
  isSamePlace,
  isUnchanged,
  isUserMessage,
  pathTo,
  placeAt,
  plainTextOf,
  toUserMessage,
} from './history-place.ts'
import { expandInvocation, startOver, ToldHistory, type ToldPart } from './told-history.ts'

/** A text about skills that the model received. */
type KnownText = PlacedText | LoadedText

/** A text that the adapter adds to every request: a notice, or instructions of skills. */
interface PlacedText extends ToldPart {
  readonly text: string
  /** The message of the user that invoked a skill, which the text replaces. */
  readonly asked?: string
  readonly place: HistoryPlace
}

/** The text of a skill in the result of a tool call. */
interface LoadedText extends ToldPart {
  readonly callId: string
  /** The place after the result. A text that was removed comes back only there, because servers repeat ids. */
  readonly found?: HistoryPlace
}

/** What the adapter stores besides the messages. */
export interface HistoryState {
  /** The state before the texts. */
  readonly session: SessionState
  readonly texts: readonly KnownText[]
  /** The place after the last message of the user. */
  readonly turn?: HistoryPlace
  /** Describes the first item of the history. */
  readonly start?: string
}

type Items = readonly HistoryItem[]
/** Items with the messages that the adapter adds. */
export type Woven<Item> = (Item | AddedMessage)[]

/**
 * The record of the texts about skills in one conversation. Before each model call, compares the record with the history.
 * If the end of the history was removed, the session forgets it. If another part was removed, restores the loaded skills.
 */
export class TrackedHistory extends ToldHistory<KnownText> {
  readonly #options: RebaseOptions | undefined
  #turn: HistoryPlace | undefined
  #start: string | undefined

  constructor(session: SkillSession, options: RebaseOptions | undefined, state?: HistoryState) {
    super(session, state?.texts)
    this.#options = options
    this.#turn = state?.turn
    this.#start = state?.start
  }

  state(): HistoryState {
    return { session: this.base, texts: this.allParts, ...defined({ turn: this.#turn, start: this.#start }) }
  }

  /** Returns the items of the next request: the whole history with all notices. */
  async prepare<Item extends HistoryItem>(items: readonly Item[]): Promise<Woven<Item>> {
    // A history that begins with a new question was cleared, so no context is lost.
    const isCut = this.#followStart(items) && items.length > 1
    const there = this.#findThere(items)
    if (!this.follow(text => there.has(text), isCut)) await this.restore(items)
    this.update(text =>
      'callId' in text ? { ...text, ...defined({ found: text.found ?? there.get(text) }) } : text,
    )
    await this.#beginTurn(items)
    const notice = await this.takeNotice()
    if (notice !== undefined) this.add({ ...notice, place: pathTo(items, items.length) })
    return weave(items, this.parts)
  }

  /** Starts over with compacted items. Adds the loaded skills that the items do not contain. */
  async restore(items: Items, options: RebaseOptions | undefined = this.#options): Promise<void> {
    const lost = await startOver(this.session, options, ({ text }) =>
      items.some(item => containsText(item, text)),
    )
    this.#start = placeAt(items, 1).key
    this.restart(this.parts.filter(text => 'callId' in text && isStored(items, text)))
    if (lost === undefined) return
    const place = placeAt(items, items.length)
    this.add({ text: lost.text, place, entries: [], isCovered: true })
  }

  /** Returns the places of the texts that the history contains. Each result of a tool counts for one text. */
  #findThere(items: Items): ReadonlyMap<KnownText, HistoryPlace> {
    const there = new Map<KnownText, HistoryPlace>()
    const taken = new Set<number>()
    for (const text of this.inSearchOrder()) {
      const isRemoved = text.isRemoved === true
      if ('place' in text) {
        const { place } = text
        if (isRemoved ? isSamePath(items, place) : isUnchanged(items, place)) there.set(text, place)
        continue
      }
      const index = items.findIndex((item, at) => !taken.has(at) && isResult(item, text))
      if (index === -1 || (isRemoved && !isSamePath(items, text.found))) continue
      taken.add(index)
      there.set(text, text.found ?? pathTo(items, index + 1))
    }
    return there
  }

  /** Moves all places back if the host removed the start of the history. Returns true if the start is another one. */
  #followStart(items: Items): boolean {
    const start = placeAt(items, 1).key
    const isOther = start !== this.#start
    if (isOther) {
      const places = this.parts.flatMap(text => ('place' in text ? [text.place] : []))
      const move = places.map(place => findMove(items, place)).find(each => each !== undefined) ?? 0
      this.update(text => movePlace(text, move))
    }
    this.#start = start
    return isOther
  }

  /** Starts a turn if the last message of the user is new. */
  async #beginTurn(items: Items): Promise<void> {
    const index = items.findLastIndex(isUserMessage)
    const asked = items[index]
    const turn = placeAt(items, index + 1)
    if (asked === undefined || isSamePlace(this.#turn, turn)) return
    this.#turn = turn
    this.beginTurn()
    const slash = index === items.length - 1 ? await this.expandSlash(asked) : undefined
    if (slash !== undefined) this.add({ ...slash, place: pathTo(items, index + 1) })
  }

  /** Loads the skill of a message that begins with `/` and the skill's name. */
  async expandSlash(message: HistoryItem): Promise<Omit<PlacedText, 'place'> | undefined> {
    const asked = plainTextOf(message)
    if (!asked.trimStart().startsWith('/')) return undefined
    const invoked = await expandInvocation(this.session, asked)
    return invoked && { asked, ...invoked }
  }
}

/** True if the history contains the text, or the place at which the adapter adds the text. */
function isStored(items: Items, text: KnownText): boolean {
  if ('place' in text) return isUnchanged(items, text.place)
  return items.some(item => isResult(item, text))
}

function isResult({ callId, type }: HistoryItem, text: LoadedText): boolean {
  return callId === text.callId && type !== 'function_call'
}

function movePlace(text: KnownText, count: number): KnownText {
  if ('callId' in text) return text
  return { ...text, place: { ...text.place, index: text.place.index - count } }
}

/** Changes a message in place, because OpenAI Agents recognizes only its own objects. */
export function replaceMessage(item: HistoryItem, content: string): void {
  Object.assign(item, { content })
}

function weave<Item extends HistoryItem>(items: readonly Item[], texts: readonly KnownText[]): Woven<Item> {
  const woven: Woven<Item>[] = [[], ...items.map(item => [item])]
  const added = texts.filter(text => 'place' in text).filter(text => isStored(items, text))
  for (const { asked, text, place } of added) {
    const message = items[place.index - 1]
    if (asked === undefined) woven[place.index]?.push(toUserMessage(text))
    else if (message !== undefined) replaceMessage(message, text)
  }
  return woven.flat()
}
