// What every conversation store has to keep.
export { type ConversationStoreCase, conversationStoreConformance } from './conversation-store-conformance.ts'
