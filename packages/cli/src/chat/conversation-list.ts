import { existsSync } from 'node:fs'
import { type ConversationStore, type ConversationSummary, openConversationStore } from '@skillstoke/agent'
import type { Config } from '../config/config.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, paint, printJson, printLine, toTerminalLine } from '../terminal/output.ts'
import { findProgramName } from '../terminal/program-name.ts'
import { CHAT_TENANT, findConversationFile } from './conversation-file.ts'

/** Implements `stoke chat --list`: prints the stored conversations, the newest first. */
export async function listConversations(config: Config, { json }: { json: boolean }): Promise<number> {
  const file = findConversationFile(config)
  // Opening a store creates its file, and a list must not write.
  const conversations = existsSync(file) ? await readConversations(file) : []
  if (json) {
    printJson(conversations.map(({ id, seq, at }) => ({ id, messages: seq, at: new Date(at).toISOString() })))
    return EXIT_OK
  }
  if (conversations.length === 0) {
    printLine(`no conversations in ${file}`)
    return EXIT_OK
  }
  const rows = conversations.map(({ id, seq, at }) => [
    paint('bold', toTerminalLine(id)),
    new Date(at).toISOString().slice(0, 16).replace('T', ' '),
    String(seq),
  ])
  printLine(formatTable([['ID', 'TIME (UTC)', 'MESSAGES'], ...rows]))
  printLine(
    paint('dim', `continue one: ${findProgramName()} ${toCommandLine(['chat', 'ID', ...config.options])}`),
  )
  return EXIT_OK
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
