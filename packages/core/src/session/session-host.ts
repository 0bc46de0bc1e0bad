import type { Conversation } from '../activation/conversation.ts'
import type { TokenCounter } from '../catalog/render-catalog.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import type { SessionOptions } from './session-options.ts'
import type { SkillSession } from './skill-session.ts'

/** What a session needs of the runtime it belongs to. */
export interface SessionHost {
  readonly reader: SkillReader
  /** Opens a session that works for another one. */
  openChild(options: SessionOptions, parent: SkillSession): SkillSession
  /** The conversation is over. */
  ended(session: SkillSession): void
  /** The tools that run scripts for a conversation; none where scripts are not run. */
  scriptTools(conversation: Conversation): readonly ToolDefinition[]
  readonly hasher: Hasher
  readonly countTokens: TokenCounter
}
