// The server over a runtime: what a host needs to offer its skills to MCP clients. No tool sorts the blocks.

// For hosts: serve skills.
export { DEFAULT_MCP_OPTIONS, type ServeStdioOptions, SkillMcp, type SkillMcpOptions } from './skill-mcp.ts'

// For clients: file URIs, and the metadata keys that tell the origin of an answer.
export { parseSkillUri, type SkillUri, toSkillUri } from './skill-uri.ts'
export { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
