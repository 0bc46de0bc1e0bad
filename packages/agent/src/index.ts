// Exports the agent and its conversations. The export blocks below are ordered by hand.

// For hosts: the agent.
export { SkillAgent, type SkillAgentOptions } from './skill-agent.ts'
export type { AgentEvent, TurnResult } from './agent-event.ts'
export { Conversation } from './conversation.ts'
export type { TurnInput } from './turn-input.ts'
export type { CallAnswer, PendingCall } from './pending-calls.ts'
export type { TokenUsage } from './token-usage.ts'
export type { PrefixReading } from './prefix-meter.ts'

// For hosts: the offline model, and models that a configuration names.
export { createOfflineModel } from './offline-model.ts'
export { type ModelConfig, resolveModel } from './resolve-model.ts'

// For hosts and authors of stores: the interface and the implementations of conversation stores.
export {
  ConversationBusyError,
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  type ConversationSummary,
  type StoredMessage,
  type StoredUse,
} from './conversation-store.ts'
export { MemoryConversationStore } from './memory-conversation-store.ts'
export { openConversationStore, openPostgresStore } from './open-conversation-store.ts'
export { SqlConversationStore } from './sql-conversation-store.ts'
export { exportConversation, importConversation } from './export-conversation.ts'
