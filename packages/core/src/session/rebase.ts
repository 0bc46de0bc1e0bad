import type { Conversation } from '../activation/conversation.ts'
import { unlessFailed } from '../errors.ts'
import { type KnownOptions, number } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { renderLoadedSkill } from '../tool/skill-tool.ts'

/** A loaded skill, with the text that the skill tool returns for its newest revision. */
export interface RestoredSkill {
  readonly name: string
  readonly revision: Digest
  readonly text: string
}

/** The catalog and the loaded skills with which a conversation starts over after compaction. */
export interface SessionRebase {
  /** The catalog for the new system prompt. */
  readonly catalog: string
  /** Texts of the loaded skills at their newest revisions. The host puts these texts back into the conversation. */
  readonly restore: readonly RestoredSkill[]
  /** Names of loaded skills that were removed or did not fit. These skills no longer count as loaded. */
  readonly dropped: readonly string[]
  readonly generation: number
  readonly digest: Digest
}

export interface RebaseOptions {
  /** Maximum number of tokens of all restored skills together. @default 8,000 */
  readonly maxTokens?: number
}

export const REBASE_OPTIONS: KnownOptions<RebaseOptions> = { maxTokens: number(0) }

export const DEFAULT_RESTORE_TOKENS = 8_000

/** The functions that `chooseRestored` needs to find and measure the loaded skills of a conversation. */
export interface RestoreParts {
  readonly conversation: Conversation
  readonly find: (name: string) => Skill | undefined
  readonly countTokens: (text: string) => number
}

/** A loaded skill that is restored, with its text. */
export interface Kept extends RestoredSkill {
  readonly skill: Skill
}

/**
 * Chooses the loaded skills to restore within the token limit. Skills that were loaded last have priority, because the
 * next steps depend on them most.
 */
export async function chooseRestored(
  { conversation, find, countTokens }: RestoreParts,
  { maxTokens = DEFAULT_RESTORE_TOKENS }: RebaseOptions,
): Promise<{ readonly kept: readonly Kept[]; readonly dropped: readonly string[] }> {
  let room = maxTokens
  const kept: Kept[] = []
  const dropped: string[] = []
  for (const { name } of conversation.ledger.entries().toReversed()) {
    const skill = find(name)
    // If the store has lost the instructions, the skill is dropped.
    const body = skill && (await unlessFailed(() => conversation.reader.readBody(skill)))
    const text = body === undefined ? undefined : renderLoadedSkill(skill as Skill, body, conversation)
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
