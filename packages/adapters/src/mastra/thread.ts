import type { SessionEntry, SessionState } from '@skillstoke/core'
import type { MastraMessage } from './sdk.ts'

/** The key of a mark in the metadata of a message and in the result of a tool. */
export const MARK_KEY = 'skillstoke'

type LoadEntry = Extract<SessionEntry, { readonly kind: 'load' }>

/**
 * What a message of a thread says about skills. The adapter stores the mark in the message itself, so marks and
 * messages agree after an edit, a failed call or a dropped turn.
 */
export interface Mark {
  /** The scope of the agent, because agents with different scopes can share a thread. */
  readonly scope: string
  /** The state at the start of the conversation, or at its new start after a compaction. */
  readonly start?: SessionState
  readonly entries?: readonly SessionEntry[]
  /** True if the model does not receive the messages before this message. */
  readonly isCut?: boolean
}

/** What the messages of a thread prove. */
export interface ThreadView {
  /** The state at the start, exactly as the session returned it, so that its seal is valid. */
  readonly start: SessionState | undefined
  /** What followed the start. */
  readonly entries: readonly SessionEntry[]
  /** The loaded skills, by name. */
  readonly loaded: ReadonlyMap<string, LoadEntry>
  /** For the loaded skills whose instructions are in the messages, the revision of these instructions. */
  readonly visible: ReadonlyMap<string, { readonly revision: LoadEntry['revision'] }>
  /** True if the messages contain the start and all loaded skills. */
  readonly isWhole: boolean
  /** The texts and the ids of tool calls that every request must contain. */
  readonly evidence: readonly string[]
}

export interface ThreadPlace {
  readonly scope: string
  readonly threadId: string | undefined
  /** The names of the tools whose results have marks. */
  readonly tools: ReadonlySet<string>
}

/** A mark, and the text or the tool call with which the model receives it. */
interface FoundMark {
  readonly mark: Mark
  readonly evidence?: string
}

/** Reads the marks in the messages of one thread. */
export function readThread(messages: readonly MastraMessage[], place: ThreadPlace): ThreadView {
  let start: SessionState | undefined
  let parts: { readonly entry: SessionEntry; readonly evidence: string | undefined }[] = []
  const loaded = new Map<string, LoadEntry>()
  const visible = new Map<string, { readonly evidence: string; readonly revision: LoadEntry['revision'] }>()
  // Semantic recall can add messages of other threads.
  const own = messages.filter(({ threadId }) => threadId === undefined || threadId === place.threadId)
  for (const { mark, evidence } of own.flatMap(message => readMarks(message, place.tools))) {
    if (mark.scope !== place.scope) continue
    if (mark.start !== undefined) {
      start = mark.start
      parts = []
      loaded.clear()
      for (const { name, revision, content } of start.ledger)
        if (content !== undefined) loaded.set(name, { kind: 'load', name, revision, content })
    }
    for (const entry of mark.entries ?? []) {
      parts.push({ entry, evidence })
      if (entry.kind !== 'load') continue
      loaded.set(entry.name, entry)
      if (evidence !== undefined) visible.set(entry.name, { evidence, revision: entry.revision })
    }
    if (mark.isCut !== true) continue
    start = undefined
    parts = []
    visible.clear()
  }
  const notices = parts.flatMap(({ entry, evidence }) => (entry.kind === 'notice' ? (evidence ?? []) : []))
  return {
    start,
    entries: parts.map(({ entry }) => entry),
    loaded,
    visible,
    isWhole: start !== undefined && [...loaded.keys()].every(name => visible.has(name)),
    evidence: [...notices, ...[...loaded.keys()].flatMap(name => visible.get(name)?.evidence ?? [])],
  }
}

/** Stores a mark in the metadata of a message. */
export function putMark({ content }: MastraMessage, mark: Mark): void {
  content.metadata = { ...content.metadata, [MARK_KEY]: mark }
}

/** Records in the last message of a request that the model does not receive the messages before it. */
export function addCut(message: MastraMessage, scope: string): void {
  putMark(message, { ...toMark(message.content.metadata), scope, isCut: true })
}

/** Removes marks from new messages, because their sender could forge a catalog. */
export function removeMarks(messages: readonly MastraMessage[]): void {
  for (const { content } of messages) {
    const { [MARK_KEY]: mark, ...metadata } = content.metadata ?? {}
    if (mark !== undefined) content.metadata = metadata
  }
}

function readMarks(
  { content: { parts, metadata } }: MastraMessage,
  tools: ReadonlySet<string>,
): readonly FoundMark[] {
  const signal = toMark(toRecord(metadata?.['signal'])?.['metadata'])
  const text = parts.find(part => part.type === 'text')?.text
  const own = toMark(metadata)
  return [
    ...parts.flatMap(part => readResult(toRecord(part.toolInvocation), tools)),
    ...(signal && typeof text === 'string' ? [{ mark: toTold(signal), evidence: text }] : []),
    ...(own ? [{ mark: own }] : []),
  ]
}

function readResult(
  call: Readonly<Record<string, unknown>> | undefined,
  tools: ReadonlySet<string>,
): readonly FoundMark[] {
  const { toolName, toolCallId, result } = call ?? {}
  const mark = toMark(result)
  const isOwn = mark !== undefined && typeof toolName === 'string' && tools.has(toolName)
  return isOwn && typeof toolCallId === 'string' ? [{ mark: toTold(mark), evidence: toolCallId }] : []
}

/** Returns only what data that others can write may say. The metadata of a stored message can also have a start. */
function toTold({ scope, entries }: Mark): Mark {
  return { scope, ...(Array.isArray(entries) && { entries: entries.filter(entry => toRecord(entry)) }) }
}

function toMark(container: unknown): Mark | undefined {
  return toRecord(toRecord(container)?.[MARK_KEY]) as Mark | undefined
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
}
