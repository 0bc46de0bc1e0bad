import type { SessionState } from '@skillstoke/core'
import type { ConversationMessage, ConversationStore } from './conversation-store.ts'

const FORMAT = 'skillstoke.conversation'
const VERSION = 1
const PAGE_SIZE = 200

interface Head {
  readonly format: typeof FORMAT
  readonly version: number
  readonly conversation: string
}

type Line = Head | { readonly message: ConversationMessage } | { readonly session: SessionState }

/**
 * Yields a conversation as JSON lines: a head, every message, and the newest session state. Each line ends with a line
 * feed.
 *
 * @example
 * ```ts
 * import { exportConversation, importConversation, MemoryConversationStore } from '@skillstoke/agent'
 *
 * const store = new MemoryConversationStore()
 * await store.append('local', 'chat-1', 0, [{ id: 'a', role: 'user', content: 'Hello.', at: Date.now() }])
 * const lines = exportConversation(store, 'local', 'chat-1')
 * console.log(await importConversation(store, 'local', 'chat-2', lines)) // prints 1
 * ```
 */
export async function* exportConversation(
  store: ConversationStore,
  tenant: string,
  conversation: string,
): AsyncGenerator<string, void, undefined> {
  // Read the state first. If the conversation continues in the meantime, the state is never newer than the messages.
  const session = await store.readSession(tenant, conversation)
  yield toLine({ format: FORMAT, version: VERSION, conversation })
  for (let after = 0; ; ) {
    const page = await store.read(tenant, conversation, { after, limit: PAGE_SIZE })
    for (const { seq, ...message } of page) {
      after = seq
      yield toLine({ message })
    }
    if (page.length < PAGE_SIZE) break
  }
  if (session !== undefined) yield toLine({ session })
}

/**
 * Stores an exported conversation as a new conversation. Returns the number of messages. Importing the same export again
 * changes nothing.
 *
 * @example
 * ```ts
 * import { importConversation, MemoryConversationStore } from '@skillstoke/agent'
 *
 * const head = { format: 'skillstoke.conversation', version: 1, conversation: 'chat-1' }
 * const message = { id: 'a', role: 'user', content: 'Hello.', at: 0 }
 * const text = `${JSON.stringify(head)}\n${JSON.stringify({ message })}\n`
 * const store = new MemoryConversationStore()
 * console.log(await importConversation(store, 'local', 'chat-2', [text])) // prints 1
 * ```
 * @param lines JSON lines, cut anywhere
 * @throws TypeError with the number of the line, if the text is no export
 * @throws ConversationConflictError when `conversation` has other messages
 */
export async function importConversation(
  store: ConversationStore,
  tenant: string,
  conversation: string,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const messages: ConversationMessage[] = []
  let session: SessionState | undefined
  let count = 0
  for await (const text of splitLines(lines)) {
    const line = parseLine(text, ++count)
    if (count === 1) assertHead(line)
    else if ('message' in line) messages.push(line.message)
    else if ('session' in line) session = line.session
    else throw new TypeError(`line ${count} of the export is neither a message nor a session state`)
  }
  if (count === 0) throw new TypeError('the export is empty')
  return await store.append(tenant, conversation, 0, messages, session === undefined ? {} : { session })
}

function toLine(line: Line): string {
  return `${JSON.stringify(line)}\n`
}

async function* splitLines(
  chunks: Iterable<string> | AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter(line => line.trim() !== '')
  }
  if (rest.trim() !== '') yield rest
}

function parseLine(text: string, number: number): Line {
  try {
    const line: unknown = JSON.parse(text)
    if (typeof line === 'object' && line !== null) return line as Line
  } catch (thrown) {
    throw new TypeError(`line ${number} of the export is not JSON`, { cause: thrown })
  }
  throw new TypeError(`line ${number} of the export is not a JSON object`)
}

function assertHead(line: Line): void {
  if (!('format' in line) || line.format !== FORMAT)
    throw new TypeError(`line 1 of the export has no "format": "${FORMAT}"`)
  if (line.version !== VERSION)
    throw new TypeError(`the export has version ${line.version}; this library reads version ${VERSION}`)
}
