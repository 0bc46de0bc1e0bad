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
 * Yields a conversation as JSON lines: a head, then every message. A session state follows the message after which it was
 * stored. Each line ends with a line feed.
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
  let known: string | undefined
  yield toLine({ format: FORMAT, version: VERSION, conversation })
  for (let after = 0; ; ) {
    const page = await store.read(tenant, conversation, { after, limit: PAGE_SIZE })
    for (const { seq, ...message } of page) {
      after = seq
      yield toLine({ message })
      const session = await store.readSession(tenant, conversation, seq)
      if (session === undefined || toLine({ session }) === known) continue
      known = toLine({ session })
      yield known
    }
    if (page.length < PAGE_SIZE) break
  }
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
  let seq = 0
  for (const { messages, session } of await readParts(lines))
    seq = await store.append(tenant, conversation, seq, messages, session === undefined ? {} : { session })
  return seq
}

/** Messages that are stored together, with the session state after them. */
interface Part {
  readonly messages: ConversationMessage[]
  session?: SessionState
}

/** Reads the whole export before anything is stored, so that a cut or damaged export stores nothing. */
async function readParts(lines: Iterable<string> | AsyncIterable<string>): Promise<readonly Part[]> {
  const parts: Part[] = []
  let open: Part | undefined
  let count = 0
  for await (const text of splitLines(lines)) {
    const line = parseLine(text, ++count)
    if (count === 1) assertHead(line)
    else if ('message' in line) {
      if (open === undefined) {
        open = { messages: [] }
        parts.push(open)
      }
      open.messages.push(line.message)
    } else if ('session' in line && open !== undefined) {
      open.session = line.session
      open = undefined
    } else
      throw new TypeError(`line ${count} of the export is neither a message nor the session state after one`)
  }
  if (count === 0) throw new TypeError('the export is empty')
  return parts
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
