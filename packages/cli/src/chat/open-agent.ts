import { type ConversationStore, openConversationStore, resolveModel, SkillAgent } from '@skillstoke/agent'
import type { SkillRuntime } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { bundledSkills } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Parts } from '../terminal/parts.ts'
import { CHAT_COMMAND_NAMES } from './chat-commands.ts'
import { CHAT_TENANT, findConversationFile } from './conversation-file.ts'
import { toCallSettings } from './tool-approval.ts'
import type { Confirmation } from './tool-confirmation.ts'

export interface ChatAgentOptions {
  /** Whether the model may write skills. */
  readonly canWrite: boolean
  /** The calls of the model that a person confirms. */
  readonly confirmations: readonly Confirmation[]
}

/** The agent of a chat, and what it uses. */
export interface ChatAgent {
  readonly skills: SkillRuntime
  readonly store: ConversationStore
  readonly agent: SkillAgent
}

/** Opens the skills, the stored conversations and the agent, as parts of a program. */
export async function openChatAgent(
  config: Config,
  { canWrite, confirmations }: ChatAgentOptions,
  parts: Parts,
): Promise<ChatAgent> {
  // A wrong model is reported before anything is opened.
  const model = resolveModel(config.model)
  const skills = parts.use(
    await openSkills(config, {
      watching: 'auto',
      needsState: true,
      runsScripts: true,
      runtime: { catalog: { countTokens, ...config.catalog } },
    }),
  )
  const store = parts.use(await openConversationStore(findConversationFile(config)))
  // Only folders are writable.
  const writer = canWrite && config.roots.length > 0 ? skills.writer() : undefined
  if (writer !== undefined) await skills.addSource(bundledSkills())
  const agent = parts.use(
    new SkillAgent({
      ...{ skills, model, store, tenant: CHAT_TENANT, reservedCommands: CHAT_COMMAND_NAMES },
      call: toCallSettings(confirmations),
      ...defined({ scope: config.scope, writer }),
    }),
  )
  return { skills, store, agent }
}
