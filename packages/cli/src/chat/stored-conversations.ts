import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ConversationStore, type ConversationSummary, openConversationStore } from '@skillstoke/agent'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatTable, formatTime, paint, toTerminalLine } from '../terminal/output.ts'
import { nameCommand } from '../terminal/program-name.ts'

/** Owner of the conversations. A state directory belongs to one person. */
export const CHAT_TENANT = 'local'

/** Returns the path of the database that stores the conversations of a state directory. */
export function findConversationFile({ stateDirectory }: Config): string {
  return join(stateDirectory, 'conversations.sqlite')
}

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

/** Implements `stoke chat --list`: prints the stored conversations, the newest first. */
export async function listConversations(config: Config): Promise<Answer> {
  const file = findConversationFile(config)
  // Opening a store creates its file, and a list must not write.
  const conversations = existsSync(file) ? await readConversations(file) : []
  return {
    json: conversations.map(({ id, seq, at }) => ({ id, messages: seq, at: new Date(at).toISOString() })),
    text: () => {
      const [newest] = conversations
      if (newest === undefined) return [`no conversations in ${file}`]
      const rows = conversations.map(({ id, seq, at }) => [
        paint('bold', toTerminalLine(id)),
        formatTime(at),
        String(seq),
      ])
      const command = nameCommand(['chat', newest.id, ...config.options])
      return [
        formatTable([['ID', 'TIME (UTC)', 'MESSAGES'], ...rows]),
        paint('dim', `continue the newest: ${command}`),
      ]
    },
  }
}

async function readConversations(file: string): Promise<readonly ConversationSummary[]> {
  await using store = await openConversationStore(file)
  const found = await listAll(store)
  // A claim creates a conversation before its first message.
  return found.filter(({ seq }) => seq > 0).toSorted((a, b) => b.at - a.at)
}

/** Reads all pages of the list. */
async function listAll(store: ConversationStore): Promise<readonly ConversationSummary[]> {
  const found: ConversationSummary[] = []
  for (;;) {
    const last = found.at(-1)
    const page = await store.list(CHAT_TENANT, last === undefined ? {} : { after: last.id })
    if (page.length === 0) return found
    found.push(...page)
  }
}
