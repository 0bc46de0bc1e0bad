import type { Conversation } from '../activation/conversation.ts'
import type { TokenCounter } from '../catalog/render-catalog.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { ModelCallSkills, SkillMiss, SkillUse } from '../tool/skill-use.ts'
import type { CommandTool, ToolDefinition } from '../tool/tool-definition.ts'
import type { SessionOptions } from './session-options.ts'
import type { SkillSession } from './skill-session.ts'
import type { StateSeal } from './state-seal.ts'

/** The part of the runtime that a session needs. */
export interface SessionHost {
  readonly reader: SkillReader
  /** Opens a child session of `parent`. */
  openChild(options: SessionOptions, parent: SkillSession): SkillSession
  /** Removes a session that was closed. */
  ended(session: SkillSession): void
  /** Records that a conversation used a skill. */
  used(use: SkillUse): void
  /** Records that a conversation searched without a match. */
  missed(miss: SkillMiss): void
  /** Records what a conversation has at a model call. */
  offered(call: ModelCallSkills): void
  /** Returns the tools with which a conversation runs scripts. Returns an empty list if scripts are disabled. */
  scriptTools(conversation: Conversation): readonly ToolDefinition[]
  /** Returns the commands of the skills in a conversation's scope, as tools. */
  commandTools(conversation: Conversation): readonly CommandTool[]
  readonly hasher: Hasher
  /** Absent if stored states are not sealed. */
  readonly seal: StateSeal | undefined
  readonly countTokens: TokenCounter
}
