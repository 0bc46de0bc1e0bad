import { joinTexts } from '../live-conversation.ts'
import type { ToldPart } from '../told-history.ts'
import type { StrandsAgent, StrandsBlock, StrandsMessage, StrandsMessageData, StrandsSdk } from './sdk.ts'

/** A text of the adapter in the history of an agent. */
export interface StoredText extends ToldPart {
  /** The `trackingId` of the message, or the `toolUseId` of the tool result. */
  readonly id: string
  readonly characters: number
}

/** The place of a text in the history of an agent. */
type PlacedText = Pick<StoredText, 'id' | 'characters'>

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
export function isStored(index: TextIndex, { id, characters }: PlacedText): boolean {
  return index.get(id)?.includes(characters) ?? false
}

/** True if a block of the history contains the text. */
export function containsText(messages: readonly StrandsMessage[], text: string): boolean {
  return messages.some(({ content }) => content.some(block => textOf(block).includes(text)))
}

/** True if the history ends with a message of the user. After an interrupt, it ends with the results of tools. */
export function endsWithQuestion(messages: readonly StrandsMessage[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'user' && !last.content.some(({ type }) => type === 'toolResultBlock')
}

type MessageFactory = Pick<StrandsSdk, 'Message'>

/**
 * Appends a text to the user message at the end of the history, because some providers refuse two user messages in a
 * row. Returns the place of the text.
 */
export function appendText(sdk: MessageFactory, messages: StrandsMessage[], text: string): PlacedText {
  const last = messages.at(-1)
  const isOpen = last?.role === 'user'
  const data: StrandsMessageData = isOpen ? last.toJSON() : { role: 'user', content: [] }
  // Some providers join the texts of a message.
  const separated = isOpen && last.content.at(-1)?.type === 'textBlock' ? `\n\n${text}` : text
  const message = sdk.Message.fromMessageData({ ...data, content: [...data.content, { text: separated }] })
  messages.splice(isOpen ? -1 : messages.length, 1, message)
  return { id: message.trackingId, characters: separated.length }
}

/** Replaces the text of the message at the end of the history. Returns the place of the text. */
export function replaceText(sdk: MessageFactory, messages: StrandsMessage[], text: string): PlacedText {
  const data: StrandsMessageData = messages.at(-1)?.toJSON() ?? { role: 'user', content: [] }
  const message = sdk.Message.fromMessageData({ ...data, content: [{ text }] })
  messages.splice(-1, 1, message)
  return { id: message.trackingId, characters: text.length }
}

/** Puts the catalog into the system prompt of an agent, in the place of an earlier catalog if there is one. */
export function putCatalog(
  sdk: Pick<StrandsSdk, 'TextBlock'>,
  agent: StrandsAgent,
  earlier: string,
  catalog: string,
): void {
  const { systemPrompt = '' } = agent
  if (typeof systemPrompt === 'string') {
    const prompt = replaceCatalog(systemPrompt, earlier, catalog) ?? joinTexts(systemPrompt, catalog)
    if (prompt !== systemPrompt) agent.systemPrompt = prompt
    return
  }
  const texts = systemPrompt.map(block => replaceCatalog(textOf(block), earlier, catalog))
  const place = texts.findIndex(text => text !== undefined)
  const text = texts[place]
  if (text === undefined) {
    // Put the catalog before a cache point at the end, so that the catalog is cached too.
    const block = new sdk.TextBlock(`\n\n${catalog}`)
    if (catalog !== '') agent.systemPrompt = systemPrompt.toSpliced(endOf(systemPrompt), 0, block)
  } else if (text !== systemPrompt[place]?.text) {
    // Providers refuse empty texts.
    const blocks = text.trim() === '' ? [] : [new sdk.TextBlock(text)]
    agent.systemPrompt = systemPrompt.toSpliced(place, 1, ...blocks)
  }
}

function endOf(systemPrompt: readonly StrandsBlock[]): number {
  return systemPrompt.at(-1)?.type === 'cachePointBlock' ? systemPrompt.length - 1 : systemPrompt.length
}

/** Returns the text with the new catalog; `undefined` if the text contains neither catalog. */
function replaceCatalog(text: string, earlier: string, catalog: string): string | undefined {
  if (earlier !== '' && text.includes(earlier)) return text.replace(earlier, () => catalog)
  return catalog !== '' && text.includes(catalog) ? text : undefined
}

/** Returns the text of a block or of a tool result; empty if there is none. */
function textOf({ text, content = [] }: StrandsBlock): string {
  if (typeof text === 'string') return text
  return content.map(item => ('text' in item ? String(item.text) : '')).join('')
}
