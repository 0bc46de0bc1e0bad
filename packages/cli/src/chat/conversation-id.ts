import { randomInt } from 'node:crypto'
import type { ConversationStore } from '@skillstoke/agent'
import { CHAT_TENANT } from './conversation-file.ts'

const CONSONANTS = 'bdfghjklmnprstvz'
const VOWELS = 'aeiou'
const SYLLABLES = 3

/**
 * Returns a new id that a person can read and type, for example `chat-nabolu`. The id is random, because two processes
 * may start a conversation at the same time, and because unapproved writes of an agent belong to its conversation id.
 */
export async function createConversationId(store: ConversationStore): Promise<string> {
  for (;;) {
    const id = `chat-${Array.from({ length: SYLLABLES }, createSyllable).join('')}`
    const stored = await store.read(CHAT_TENANT, id, { limit: 1 })
    if (stored.length === 0) return id
  }
}

function createSyllable(): string {
  return `${CONSONANTS[randomInt(CONSONANTS.length)]}${VOWELS[randomInt(VOWELS.length)]}`
}
