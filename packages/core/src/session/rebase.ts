import type { LedgerEntry } from '../activation/ledger.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** The text of a loaded skill at its newest revision. */
export interface RestoredSkill {
  readonly name: string
  readonly revision: Digest
  readonly text: string
}

/** What a conversation starts over with after compaction. */
export interface SessionRebase {
  /** The catalog for the new system prompt. */
  readonly catalog: string
  /** Texts of loaded skills at their newest revision, to be put back into the context. */
  readonly restore: readonly RestoredSkill[]
  /** Loaded skills that are gone or did not fit; the conversation no longer has them. */
  readonly dropped: readonly string[]
  readonly generation: number
  readonly digest: Digest
}

export interface RebaseOptions {
  /** Tokens that restored skills may take together. @default 8,000 */
  readonly maxTokens?: number
}

export const DEFAULT_RESTORE_TOKENS = 8_000

/** How the loaded skills of one conversation are found and written down. */
export interface RestoreParts {
  readonly find: (name: string) => Skill | undefined
  /** Returns `undefined` when the store has lost the instructions. */
  readonly render: (skill: Skill) => Promise<string | undefined>
  readonly countTokens: (text: string) => number
}

/** A loaded skill that goes on with the conversation, and its text. */
export interface Kept extends RestoredSkill {
  readonly skill: Skill
}

/** Decides which loaded skills fit, newest loads first: they matter most to what comes next. */
export async function chooseRestored(
  entries: readonly LedgerEntry[],
  { find, render, countTokens }: RestoreParts,
  { maxTokens = DEFAULT_RESTORE_TOKENS }: RebaseOptions,
): Promise<{ readonly kept: readonly Kept[]; readonly dropped: readonly string[] }> {
  let room = maxTokens
  const kept: Kept[] = []
  const dropped: string[] = []
  for (const { name } of entries.toReversed()) {
    const skill = find(name)
    const text = skill === undefined ? undefined : await render(skill)
    const tokens = text === undefined ? 0 : countTokens(text)
    if (skill === undefined || text === undefined || tokens > room) {
      dropped.push(name)
      continue
    }
    room -= tokens
    kept.push({ skill, name, revision: skill.revision, text })
  }
  return { kept: kept.reverse(), dropped }
}
