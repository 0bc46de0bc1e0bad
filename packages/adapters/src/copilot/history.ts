import type { SessionState } from '@skillstoke/core'
import type { ToldPart } from '../told-history.ts'

/** A text about skills that the adapter added to the conversation. */
interface AddedText extends ToldPart {
  readonly text: string
  /** The state at a catalog. The record of the conversation begins with the newest catalog. */
  readonly base?: SessionState
}

/** The text of a skill in the result of a tool call. */
interface LoadedText extends ToldPart {
  readonly callId: string
}

export type CopilotPart = AddedText | LoadedText

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
    readonly output?: unknown
  }
}

/** The field of a hook's output that keeps the record. The runtime stores the output, and never sends it to a model. */
export const RECORD = 'skillstoke'

/** What a session's event log says about skills. */
interface KnownHistory {
  /** The parts that are in the log, from the newest catalog on. */
  readonly parts: readonly CopilotPart[]
  /** The state at that catalog; `undefined` if the log contains none. */
  readonly base: SessionState | undefined
  /** True if the catalog is in the context of the model, that is, no compaction removed it. */
  readonly hasCatalog: boolean
}

/** Reads the record of the main agent from the event log. `unsaved` are the parts that the log does not contain yet. */
export function readHistory(log: readonly CopilotEvent[], unsaved: readonly CopilotPart[]): KnownHistory {
  const cleared = log.findLastIndex(({ type }) => type === 'session.context_cleared')
  const events = log.slice(cleared + 1).filter(({ agentId }) => agentId === undefined)
  const known = [...events.flatMap(readRecord), ...unsaved].filter(part => isStored(events, part))
  const start = known.findLastIndex(part => 'base' in part)
  const catalog = known[start]
  if (catalog === undefined || !('base' in catalog)) return { parts: [], base: undefined, hasCatalog: false }
  const context = events.slice(events.findLastIndex(isCompaction) + 1)
  return { parts: known.slice(start), base: catalog.base, hasCatalog: isStored(context, catalog) }
}

export function isCompaction({ type, data }: CopilotEvent): boolean {
  return type === 'session.compaction_complete' && data.success === true
}

function readRecord({ type, data }: CopilotEvent): readonly CopilotPart[] {
  if (type !== 'hook.end') return []
  const { [RECORD]: parts } = (data.output ?? {}) as { readonly [RECORD]?: readonly CopilotPart[] }
  return parts ?? []
}

/** True if a message contains the text. A hook's output stays in the log when the message of the user is removed. */
function isStored(events: readonly CopilotEvent[], part: CopilotPart): boolean {
  return events.some(({ type, data }) => {
    if (type === 'user.message')
      return 'text' in part && (data.transformedContent ?? data.content ?? '').includes(part.text)
    if (type !== 'tool.execution_complete') return false
    if ('callId' in part) return data.toolCallId === part.callId && data.success === true
    return data.result?.content.includes(part.text) ?? false
  })
}
