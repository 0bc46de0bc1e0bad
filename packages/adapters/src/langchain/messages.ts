import type { SessionEntry, ToolResult } from '@skillstoke/core'
import type { ToldPart } from '../told-history.ts'
import type { LangChainState, LangChainTold } from './thread.ts'

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
  readonly _skillstokeTold?: LangChainTold | undefined
}

/** What a message tells the model about skills. No provider receives it. */
interface Mark {
  readonly skillstoke?: readonly SessionEntry[]
}

/** A message that tells the model about skills. */
export interface LangChainPart extends ToldPart {
  /** Id of the tool call; for a message of the adapter, id of the message. */
  readonly evidence: string
}

/** A message that the adapter adds to the graph's state. */
export interface LangChainNotice {
  readonly role: 'user'
  readonly content: string
  readonly id: string
  /** LangChain marks its own summaries with the field `lc_source`. */
  readonly additional_kwargs: { readonly lc_source: 'skillstoke' } & Mark
}

/** The artifact of the answer of a skill tool. The checkpoint keeps it, and no model sees it. */
export type LangChainArtifact = Omit<ToolResult, 'text'> & Mark

/** Returns what these messages tell the model. `tools` are the names of the tools whose answers contain skills. */
export function readParts(
  messages: readonly LangChainMessage[],
  tools: readonly string[],
): readonly LangChainPart[] {
  return messages.flatMap(({ id, name = '', tool_call_id: callId, artifact, additional_kwargs: marks }) => {
    const isNotice = marks?.['lc_source'] === 'skillstoke'
    const evidence = isNotice ? id : tools.includes(name) ? callId : undefined
    const { skillstoke: entries } = ((isNotice ? marks : artifact) ?? {}) as Mark
    // Clients can send messages with any marks.
    if (evidence === undefined || !Array.isArray(entries)) return []
    return [{ evidence, entries: entries.filter(entry => typeof entry === 'object' && entry !== null) }]
  })
}

/** Creates a message of the adapter. */
export function toNotice(content: string, id: string, entries: readonly SessionEntry[]): LangChainNotice {
  return { role: 'user', content, id, additional_kwargs: { lc_source: 'skillstoke', skillstoke: entries } }
}
