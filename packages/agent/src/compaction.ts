import type { ModelMessage } from 'ai'
import type { ConversationMessage } from './conversation-store.ts'
import type { TurnOptions } from './turn-input.ts'

export interface CompactOptions extends TurnOptions {
  /** Writes the summary. @default the model of the agent */
  readonly summarize?: (messages: readonly ModelMessage[]) => string | Promise<string>
  /** Maximum number of tokens of the skills that are put back. @default 8,000 */
  readonly maxTokens?: number
}

/** The beginnings of the messages that the agent adds in the name of the user. */
const SUMMARY = 'Summary of the conversation so far:\n'
const RESTORED = 'The skills that you loaded earlier, at their newest revisions:\n\n'
export const NOTICE_TAG = '<skills_update'
export const STOPPED = '[The user stopped this answer.]'

/**
 * Returns the messages after a compaction. The skills are at the end, because older texts of them may be in the kept
 * messages.
 */
export function toCompacted(
  summary: string,
  kept: readonly ModelMessage[],
  skills: readonly string[],
): readonly ModelMessage[] {
  const restored = skills.length === 0 ? [] : [RESTORED + skills.join('\n\n')]
  const first = {
    role: 'user',
    content: [SUMMARY + summary, ...(kept.length === 0 ? restored : [])].join('\n\n'),
  } as const
  if (kept.length === 0) return [first]
  return [first, ...kept, ...restored.map(content => ({ role: 'user', content }) as const)]
}

/**
 * Returns the messages that a compaction keeps word for word: the question of an open turn, and the results that the
 * model has not seen, with their calls.
 */
export function findOpenMessages(
  messages: readonly ModelMessage[],
  question: ModelMessage | undefined,
): readonly ModelMessage[] {
  if (question === undefined) return []
  const said = messages.filter(message => !isAdded(message))
  const calls = said.at(-1)?.role === 'tool' ? said.findLastIndex(({ role }) => role === 'assistant') : -1
  return calls === -1 ? [question] : [question, ...said.slice(calls)]
}

/** Returns the question of the open turn of a stored conversation; `undefined` if all its turns have ended. */
export function findOpenQuestion(
  messages: readonly ModelMessage[],
  isWaiting: boolean,
): ModelMessage | undefined {
  if (messages.at(-1)?.role === 'assistant' && !isWaiting) return undefined
  return messages.findLast(message => message.role === 'user' && !isAdded(message))
}

/** Returns the texts that the messages do not contain yet. */
export function findMissingTexts<Item extends { readonly text: string }>(
  items: readonly Item[],
  messages: readonly ModelMessage[],
): readonly Item[] {
  const shown = JSON.stringify(messages)
  return items.filter(({ text }) => !shown.includes(JSON.stringify(text).slice(1, -1)))
}

/** Estimates the tokens of a request, until a provider reports them. Counts four characters as one token. */
export function estimateTokens(system: string, messages: readonly ModelMessage[]): number {
  return Math.ceil((system.length + JSON.stringify(messages).length) / 4)
}

/** True for a message that the agent added in the name of the user. */
export function isAdded({ role, content }: Pick<ConversationMessage, 'role' | 'content'>): boolean {
  const starts = [SUMMARY, RESTORED, NOTICE_TAG, STOPPED]
  return role === 'user' && typeof content === 'string' && starts.some(start => content.startsWith(start))
}

/** Changes a text of the user that begins like a message of the agent, so that nobody takes it for one. */
export function toQuestion(text: string): string {
  return isAdded({ role: 'user', content: text }) ? `\n${text}` : text
}
