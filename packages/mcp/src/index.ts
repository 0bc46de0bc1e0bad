// Exports the server with which a host offers the skills of its runtime to MCP clients. The export blocks below are
// ordered by hand.

// For hosts: serve skills.
export { createSkillsServer, SkillMcp } from './skill-mcp.ts'
export type { SkillMcpOptions } from './mcp-options.ts'
export type { ClientAccess } from './client-access.ts'

// For operators: audit entries.
export type { AuditEntry } from './request-trace.ts'

// For clients: skill URIs, and the metadata keys that name the revision and generation of an answer.
export { parseSkillUri, toSkillUri } from './skill-uri.ts'
export { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
