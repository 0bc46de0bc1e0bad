// Conformance tests for conversation stores.
export { type ConversationStoreCase, conversationStoreConformance } from './conversation-store-conformance.ts'
