// Conformance tests for conversation stores.
export { conversationStoreConformance } from './conversation-store-conformance.ts'
