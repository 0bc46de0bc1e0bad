import type { ModelMessage } from 'ai'
import type { TurnOptions } from './turn-input.ts'

export interface CompactOptions extends TurnOptions {
  /** Writes the summary. @default the model of the agent */
  readonly summarize?: (messages: readonly ModelMessage[]) => string | Promise<string>
  /** Maximum number of tokens of the skills that are put back. @default 8,000 */
  readonly maxTokens?: number
}

/** The tag with which each notice of changed skills begins. */
const NOTICE_TAG = '<skills_update'

/**
 * Returns the messages that a compaction keeps word for word: the question of an open turn, and the results that the
 * model has not seen, with their calls.
 */
export function findOpenMessages(
  messages: readonly ModelMessage[],
  question: ModelMessage | undefined,
): readonly ModelMessage[] {
  if (question === undefined) return []
  const said = messages.filter(message => !isNotice(message))
  const calls = said.at(-1)?.role === 'tool' ? said.findLastIndex(({ role }) => role === 'assistant') : -1
  return calls === -1 ? [question] : [question, ...said.slice(calls)]
}

/** Returns the question of the open turn of a stored conversation; `undefined` if all its turns have ended. */
export function findOpenQuestion(
  messages: readonly ModelMessage[],
  isWaiting: boolean,
): ModelMessage | undefined {
  if (messages.at(-1)?.role === 'assistant' && !isWaiting) return undefined
  return messages.findLast(message => message.role === 'user' && !isNotice(message))
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

function isNotice({ role, content }: ModelMessage): boolean {
  return role === 'user' && typeof content === 'string' && content.startsWith(NOTICE_TAG)
}
