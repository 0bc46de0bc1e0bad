import type { SessionEntry, ToolResult } from '@skillstoke/core'
import type { ToldPart } from '../told-part.ts'
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
  readonly skillstoke?: SessionEntry
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
): readonly ToldPart[] {
  return messages.flatMap(({ id, name = '', tool_call_id: callId, artifact, additional_kwargs: marks }) => {
    const isNotice = marks?.['lc_source'] === 'skillstoke'
    const evidence = isNotice ? id : tools.includes(name) ? callId : undefined
    const { skillstoke: entry } = ((isNotice ? marks : artifact) ?? {}) as Mark
    return evidence === undefined || entry === undefined ? [] : [{ evidence, entry }]
  })
}

/** Creates a message of the adapter. */
export function toNotice(content: string, id: string, entry: SessionEntry | undefined): LangChainNotice {
  const mark = entry === undefined ? {} : { skillstoke: entry }
  return { role: 'user', content, id, additional_kwargs: { lc_source: 'skillstoke', ...mark } }
}
