import type { Conversation } from '../activation/conversation.ts'
import type { TokenCounter } from '../catalog/render-catalog.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import type { SessionOptions } from './session-options.ts'
import type { SkillSession } from './skill-session.ts'

/** The part of the runtime that a session needs. */
export interface SessionHost {
  readonly reader: SkillReader
  /** Opens a session that works for another one. */
  openChild(options: SessionOptions, parent: SkillSession): SkillSession
  /** Removes a session whose conversation has ended. */
  ended(session: SkillSession): void
  /** Returns the tools that run scripts for a conversation. The list is empty if scripts are disabled. */
  scriptTools(conversation: Conversation): readonly ToolDefinition[]
  readonly hasher: Hasher
  readonly countTokens: TokenCounter
}
