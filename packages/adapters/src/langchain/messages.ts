import type { ToolResult } from '@skillstoke/core'
import type { LangChainState } from './thread.ts'

/** The part of a LangChain message that the adapter reads. */
export interface LangChainMessage {
  readonly type: string
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly text?: string
  readonly additional_kwargs?: Readonly<Record<string, unknown>>
  /** Only in tool messages. */
  readonly tool_call_id?: string | undefined
  /** Only in tool messages. */
  readonly artifact?: unknown
}

/** The part of the graph's state that the adapter uses. */
export interface LangChainGraphState {
  readonly messages: readonly LangChainMessage[]
  readonly _skillstoke?: LangChainState | undefined
}

/** A message that the adapter adds to the graph's state. */
export interface LangChainNotice {
  readonly role: 'user'
  readonly content: string
  readonly id: string
  /** LangChain marks its own summaries with the same field. A message that carries a skill names it. */
  readonly additional_kwargs: { readonly lc_source: 'skillstoke' } & Pick<ToolResult, 'skill' | 'revision'>
}

/** The artifact of the answer of a skill tool. The checkpoint keeps it, and no model sees it. */
export type LangChainArtifact = Omit<ToolResult, 'text'>

/** A message by which a conversation received the instructions of a skill. */
export interface Receipt extends Required<Pick<ToolResult, 'skill' | 'revision'>> {
  /** Id of the tool call; for a message of the adapter, id of the message. */
  readonly anchor: string
}

// Clients can send messages with any marks.
const DIGEST = /^sha256:[0-9a-f]{64}$/

/** Returns the receipts in these messages. `loadTool` is the name of the tool that loads skills. */
export function readReceipts(
  messages: readonly LangChainMessage[],
  loadTool: string | undefined,
): readonly Receipt[] {
  return messages.flatMap(({ id, name, tool_call_id: callId, artifact, additional_kwargs: marks }) => {
    const isNotice = marks?.['lc_source'] === 'skillstoke'
    const anchor = isNotice ? id : callId
    const { skill, revision } = ((isNotice ? marks : artifact) ?? {}) as Partial<LangChainArtifact>
    const isReceipt = isNotice || name === loadTool
    return isReceipt && anchor && skill && revision && DIGEST.test(revision)
      ? { anchor, skill, revision }
      : []
  })
}

/** Returns the messages after the message with this id; without an id, all messages. */
export function messagesAfter(
  messages: readonly LangChainMessage[],
  id: string | undefined,
): readonly LangChainMessage[] {
  if (id === undefined) return messages
  const place = messages.findLastIndex(message => message.id === id)
  // If the host removed the message, only the newest tool calls can be new.
  const start = place === -1 ? messages.findLastIndex(({ type }) => type === 'ai') : place
  return messages.slice(start + 1)
}

/** Creates a message of the adapter. `skill` is the skill whose instructions the message contains. */
export function toNotice(
  content: string,
  id: string,
  skill?: { readonly name: string; readonly revision: Receipt['revision'] },
): LangChainNotice {
  const carried = skill === undefined ? {} : { skill: skill.name, revision: skill.revision }
  return { role: 'user', content, id, additional_kwargs: { lc_source: 'skillstoke', ...carried } }
}
