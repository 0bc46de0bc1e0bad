import type { HistoryItem } from '../history-place.ts'
import type { TrackedHistory, Woven } from '../tracked-history.ts'
import type { PiBlock, PiMessage, PiTool } from './sdk.ts'
import { toCallId } from './tools.ts'

/** The section of the system prompt that contains the catalog. */
const SECTION = 'skillstoke'

/** A message as an item of a tracked history. */
interface PiItem extends HistoryItem {
  readonly message: PiMessage
}

/** Returns the messages of the next request: the whole transcript with the catalog and all notices. */
export async function prepareMessages(
  history: TrackedHistory,
  messages: readonly PiMessage[],
): Promise<PiMessage[]> {
  const { head, others } = splitHead(messages)
  const woven = await history.prepare(others.map(toItem))
  // Read the catalog last, because a notice or a compaction may have replaced it.
  const { catalog } = history.session
  const sections = { ...head.sections, [SECTION]: catalog }
  const start = catalog === '' ? messages.slice(0, messages.length - others.length) : [{ ...head, sections }]
  return [...start, ...toMessages(woven)]
}

/**
 * Returns the messages with the skill tools in the system message. The SDK would declare them in a message of their own,
 * after the messages of a stored conversation.
 */
export function declareTools(messages: readonly PiMessage[], tools: readonly PiTool[]): PiMessage[] {
  const declared = new Set(messages.flatMap(({ toolsAdded = [] }) => toolsAdded.map(({ name }) => name)))
  const missing = tools.filter(({ name }) => !declared.has(name))
  if (missing.length === 0) return [...messages]
  const { head, others } = splitHead(messages)
  const added = missing.map(({ name, description, parameters }) => ({ name, description, parameters }))
  return [{ ...head, toolsAdded: [...(head.toolsAdded ?? []), ...added] }, ...others]
}

/** Returns the system prompt, which is the first message, and the other messages. */
function splitHead(messages: readonly PiMessage[]): {
  readonly head: PiMessage
  readonly others: readonly PiMessage[]
} {
  const [first, ...others] = messages
  if (first?.role === 'system') return { head: first, others }
  return { head: { role: 'system', content: '', timestamp: 0 }, others: messages }
}

function toItem(message: PiMessage): PiItem {
  const { role, content, toolCallId } = message
  if (typeof toolCallId === 'string')
    return { type: 'tool_result', callId: toCallId(toolCallId), output: content, message }
  const blocks = Array.isArray(content) ? (content as readonly PiBlock[]) : []
  const calls = blocks.flatMap(({ type, id = '' }) => (type === 'toolCall' ? [id] : []))
  if (calls.length === 0) return { role, content, message }
  return { type: 'function_call', callId: calls.join(), role, content, message }
}

/** Adds a notice to the message of the user before it, because some providers refuse two user messages in a row. */
function toMessages(items: Woven<PiItem>): PiMessage[] {
  const messages: PiMessage[] = []
  for (const item of items) {
    if ('message' in item) {
      messages.push(toMessage(item))
      continue
    }
    const last = messages.at(-1)
    if (last?.role === 'user') messages.splice(-1, 1, appendText(last, item.content))
    // The time of the message before it makes it the same message in all requests.
    else messages.push({ role: 'user', content: [toText(item.content)], timestamp: last?.timestamp ?? 0 })
  }
  return messages
}

/** Returns the message, with the instructions of the skill that it invokes. */
function toMessage({ message, output, content = output }: PiItem): PiMessage {
  return content === message.content ? message : { ...message, content }
}

function appendText(message: PiMessage, text: string): PiMessage {
  const { content } = message
  const blocks = Array.isArray(content) ? (content as readonly object[]) : [toText(String(content))]
  // Some providers join the texts of a message.
  return { ...message, content: [...blocks, toText(`\n\n${text}`)] }
}

function toText(text: string): object {
  return { type: 'text', text }
}
