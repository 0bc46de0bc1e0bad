// The agent and its conversations. No tool sorts the blocks.

// For hosts: the agent.
export { SkillAgent, type SkillAgentOptions } from './skill-agent.ts'
export type { AgentEvent } from './agent-event.ts'
export {
  Conversation,
  DEFAULT_MAX_STEPS,
  type TurnOptions,
  type TurnResult,
} from './conversation.ts'
export type { PrefixReading } from './prefix-meter.ts'

// For hosts: models, offline by default, any other by configuration.
export { createOfflineModel } from './offline-model.ts'
export { type ModelConfig, resolveModel } from './resolve-model.ts'

// For hosts and authors of stores: conversation stores.
export {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  type MessageRole,
  type StoredMessage,
} from './conversation-store.ts'
export { MemoryConversationStore } from './memory-conversation-store.ts'
export { openConversationStore, SqliteConversationStore } from './sqlite-conversation-store.ts'
// For hosts with their own loop: the tools of a session for the AI SDK.
export { type AiToolOutput, toAiTools } from './to-ai-tools.ts'
