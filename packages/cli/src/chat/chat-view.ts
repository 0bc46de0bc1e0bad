import type { AgentEvent, PendingCall } from '@skillstoke/agent'
import type { Generation, RegistryUpdate, SkillExplanation } from '@skillstoke/core'
import type { ListeningSession } from '../dev/dev-printer.ts'
import type { ShownSkill } from './shown-skill.ts'

/** The conversation that a chat has opened. */
export interface OpenedChat {
  readonly id: string
  /** Number of stored messages. 0 for a new conversation. */
  readonly messages: number
  /** The last answer of the model, if the conversation continues. */
  readonly lastAnswer?: string
  /** The command that continues the conversation; absent if the conversation is not stored. */
  readonly command?: string
  readonly model: string
  readonly generation: Generation
}

/** How a turn ended. `waiting` means that a call waits for an approval. */
export const TURN_OUTCOMES = ['answered', 'waiting', 'failed', 'interrupted', 'busy'] as const

export type TurnOutcome = (typeof TURN_OUTCOMES)[number]

/** Shows what happens in a chat, as text for a person or as JSON for a program. */
export interface ChatView {
  opened(chat: OpenedChat): void
  /** Skills changed. `session` describes the next notice for the conversation. */
  updated(update: RegistryUpdate, session: ListeningSession): void
  /** An event of the running turn, or of a compaction. */
  happened(event: AgentEvent): void
  /** A turn ended without an answer. */
  stopped(outcome: Exclude<TurnOutcome, 'answered' | 'waiting'>, reason: string): void
  /** A call waits for the answer of a person. `isAsked` is false if there is no person to ask. */
  waiting(call: PendingCall, isAsked: boolean): void
  listed(skills: readonly ShownSkill[], generation: Generation): void
  explained(explanation: SkillExplanation): void
  /** The questions of the conversation, in order. The first one is that of turn 1. */
  asked(questions: readonly string[]): void
  /** The chat goes on in a copy with this id. */
  branched(id: string): void
  reloaded(before: Generation, after: Generation): void
  helped(skills: readonly ShownSkill[]): void
  /** Something that was typed has no effect, or has another effect than expected. */
  noted(text: string): void
}
