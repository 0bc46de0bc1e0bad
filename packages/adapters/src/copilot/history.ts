import type { SessionState } from '@skillstoke/core'
import type { ToldPart } from '../told-history.ts'

/** The field of a hook's output that keeps the record. The runtime stores the output, and never sends it to a model. */
export const RECORD = 'skillstoke'

/** A text about skills that the model received: a text that the adapter added, or the result of a tool call. */
export interface CopilotPart extends ToldPart {
  readonly text?: string
  readonly callId?: string
  /** The state at a catalog. The record of the conversation begins with the newest catalog. */
  readonly base?: SessionState
}

/** An event of a session. The adapter uses these fields of the SDK's events. */
export interface CopilotEvent {
  readonly type: string
  /** The id of the subagent; absent for the main agent. */
  readonly agentId?: string | undefined
  readonly data: {
    readonly agentName?: string
    readonly toolCallId?: string | undefined
    readonly success?: boolean
    readonly content?: string
    readonly transformedContent?: string | undefined
    readonly result?: { readonly content: string } | undefined
    readonly output?: { readonly [RECORD]?: readonly CopilotPart[] }
  }
}

/** `hasCatalog` is false if a compaction removed the catalog. */
type KnownHistory = { readonly parts: readonly CopilotPart[]; readonly hasCatalog: boolean }

/**
 * Reads the record of the main agent: its parts that are in the event log, from the newest catalog on. `unsaved` are the
 * parts that the log does not contain yet.
 */
export function readHistory(log: readonly CopilotEvent[], unsaved: readonly CopilotPart[]): KnownHistory {
  const events = log.filter(({ agentId }) => agentId === undefined)
  const outputs = events.flatMap(({ type, data }) => (type === 'hook.end' && data.output?.[RECORD]) || [])
  const known = [...outputs, ...unsaved].filter(part => isStored(events, part))
  const start = known.findLastIndex(({ base }) => base !== undefined)
  const catalog = known[start]
  const isCut = (event: CopilotEvent): boolean =>
    isCompaction(event) || event.type === 'session.context_cleared'
  const context = events.slice(events.findLastIndex(isCut) + 1)
  const hasCatalog = catalog !== undefined && isStored(context, catalog)
  return { parts: start === -1 ? [] : known.slice(start), hasCatalog }
}

export function isCompaction({ type, data }: CopilotEvent): boolean {
  return type === 'session.compaction_complete' && data.success === true
}

/** True if a message contains the text. A hook's output stays in the log when the message of the user is removed. */
function isStored(events: readonly CopilotEvent[], { text, callId }: CopilotPart): boolean {
  return events.some(({ type, data: { content, transformedContent = content, result, ...data } }) => {
    if (callId !== undefined)
      return type === 'tool.execution_complete' && data.toolCallId === callId && data.success
    const message = type === 'user.message' ? transformedContent : result?.content
    return text !== undefined && message?.includes(text)
  })
}
