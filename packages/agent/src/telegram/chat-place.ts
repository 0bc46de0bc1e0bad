/** A chat, or one topic of a chat. */
export interface ChatPlace {
  readonly chatId: number
  /** Absent if the chat has no topics, and for the topic "General". */
  readonly threadId?: number
}

/** Returns the id of the conversation that belongs to a chat or topic. */
export function toConversationId({ chatId, threadId }: ChatPlace): string {
  return threadId === undefined ? `telegram-${chatId}` : `telegram-${chatId}-${threadId}`
}
