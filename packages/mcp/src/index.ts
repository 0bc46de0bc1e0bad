// The server over a runtime: what a host needs to offer its skills to MCP clients.

// The skills of another server.
export { type McpCommand, type McpServerOptions, mcpServer } from './mcp-source.ts'
// What answers say of where they were taken from.
export { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
export { DEFAULT_MCP_OPTIONS, type ServeStdioOptions, SkillMcp, type SkillMcpOptions } from './skill-mcp.ts'
// The names under which clients find files.
export { parseSkillUri, type SkillUri, toSkillUri } from './skill-uri.ts'
