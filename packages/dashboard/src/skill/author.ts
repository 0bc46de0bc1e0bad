import type { ApiClient, SkillDetail, SkillRow } from 'skillstoke/client'
import { status } from '../store.ts'

/** One step in the history of a skill. */
export type HistoryRecord = Awaited<ReturnType<ApiClient['history']>>['records'][number]

/** A skill and its history, as each part of its page shows it. */
export interface ShownSkill {
  readonly row: SkillRow
  readonly detail: SkillDetail
  readonly records: readonly HistoryRecord[]
}

/** Names who made a change, as the first word of a sentence. */
export function nameAuthor({ author, source }: Pick<HistoryRecord, 'author' | 'source'>): string {
  const { kind, name } = author
  if (kind === 'agent') return name === undefined ? 'An agent' : `The agent ${name}`
  if (kind === 'source') return name ?? source
  return name === undefined || (kind === 'person' && name === status.value?.user) ? 'You' : name
}

/** Returns the record about when the served text became live. */
export function findLive(
  records: readonly HistoryRecord[],
  serving: string | null,
): HistoryRecord | undefined {
  return records.find(({ event, revision }) => event === 'live' && revision === serving)
}

/** Counts the changes. The first text that was seen is none. */
export function countChanges(records: readonly HistoryRecord[]): number {
  return records.filter(({ cause }) => cause !== 'found').length
}
