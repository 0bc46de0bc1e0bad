import type { SessionEntry, SkillSession, ToolResult } from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'

/** A text in a history from which the model knows something about skills. */
export interface ToldPart {
  /** What shows that the text is still in the history: a part of the text, or the id of its message or tool call. */
  readonly evidence: string
  /** Absent if the state of the session already contains it. */
  readonly entry?: SessionEntry
}

export function entriesOf(parts: readonly ToldPart[]): readonly SessionEntry[] {
  return parts.flatMap(({ entry }) => entry ?? [])
}

/** Returns the entry for a skill whose instructions the conversation has just received. */
export function loadEntryOf(
  session: SkillSession,
  { name, revision }: { readonly name: string; readonly revision: ToolResult['revision'] },
): SessionEntry | undefined {
  const loaded = session.ledger.find(name)
  if (loaded?.content === undefined || loaded.revision !== revision) return undefined
  return { kind: 'load', name, revision, content: loaded.content }
}

/** Returns the entry for the answer of a skill tool; `undefined` if the answer contains no text of a skill. */
export function entryOfAnswer(
  session: SkillSession,
  tool: string,
  { isError, skill: name, revision }: ToolResult,
): SessionEntry | undefined {
  if (isError || name === undefined || revision === undefined) return undefined
  if (tool === session.tools[0]?.name) return loadEntryOf(session, { name, revision })
  return tool === TOOL_NAMES.readFile ? { kind: 'read', name, revision } : undefined
}
