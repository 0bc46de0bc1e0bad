import { portableHasher } from '@skillstoke/core/source'

/** An item of a history: a message, a tool call or the result of a tool call. */
export interface HistoryItem {
  /** @default 'message' */
  readonly type?: string | undefined
  readonly role?: string | undefined
  readonly callId?: string | null | undefined
  readonly content?: unknown
  readonly output?: unknown
}

/** A message that an adapter adds to a history. */
export interface AddedMessage {
  type: 'message'
  role: 'user'
  content: string
}

/** A place between two items of a history. */
export interface HistoryPlace {
  /** Number of items before the place. */
  readonly index: number
  /** Describes the last two items before the place. */
  readonly key: string
  /** A digest of all items before the place. Absent if only the newest items matter. */
  readonly path?: string
}

type Items = readonly HistoryItem[]

export function placeAt(items: Items, index: number): HistoryPlace {
  const before = items.slice(Math.max(index - 2, 0), Math.max(index, 0))
  return { index, key: before.map(describeItem).join('|') }
}

/** Returns a place that is found again only behind the same items. */
export function pathTo(items: Items, index: number): HistoryPlace {
  return { ...placeAt(items, index), path: digestPath(items, index) }
}

/** True if all items before the place are the same as before. */
export function isSamePath(items: Items, { index = 0, path }: Partial<HistoryPlace> = {}): boolean {
  return path !== undefined && index <= items.length && path === digestPath(items, index)
}

function digestPath(items: Items, index: number): string {
  return portableHasher.sha256(JSON.stringify(items.slice(0, index).map(describeItem)))
}

export function isSamePlace(left: HistoryPlace | undefined, right: HistoryPlace): boolean {
  return left?.index === right.index && left.key === right.key
}

/** True if the same items are before the place as before. */
export function isUnchanged(items: Items, place: HistoryPlace): boolean {
  return isSamePlace(place, placeAt(items, place.index))
}

/** Returns by how many items a place moved back, because items before it are gone; `undefined` if the place is gone. */
export function findMove(items: Items, place: HistoryPlace): number | undefined {
  for (let index = Math.min(place.index, items.length); index > 0; index--)
    if (placeAt(items, index).key === place.key) return place.index - index
  return undefined
}

/** Returns the text of a message; an empty text for other items. */
export function textOf({ content }: HistoryItem): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(toText).join('') : ''
}

/** Returns the text of a message; an empty text if the message also has other parts, for example an image. */
export function plainTextOf(message: HistoryItem): string {
  const { content } = message
  return Array.isArray(content) && content.length > 1 ? '' : textOf(message)
}

/** True if the item contains the text, in a message or in the result of a tool call. */
export function containsText({ content, output }: HistoryItem, text: string): boolean {
  const texts = [content, output].flatMap(value => (Array.isArray(value) ? value.map(toText) : toText(value)))
  return texts.some(each => each.includes(text))
}

export function isUserMessage(item: HistoryItem | undefined): item is HistoryItem {
  return item?.role === 'user'
}

export function toUserMessage(content: string): AddedMessage {
  return { type: 'message', role: 'user', content }
}

const SHOWN_CHARACTERS = 40

/** Describes an item without its id, because some sessions change the ids of messages. */
function describeItem(item: HistoryItem): string {
  const { type = 'message', role = '', callId } = item
  if (typeof callId === 'string') return `${type} ${callId}`
  const text = textOf(item)
  return `${type} ${role} ${text.length} ${text.slice(-SHOWN_CHARACTERS)}`
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  const isPart = typeof value === 'object' && value !== null && 'text' in value
  return isPart && typeof value.text === 'string' ? value.text : ''
}
