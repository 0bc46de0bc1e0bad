/** Where the skills of a project are looked for. */
export const DEFAULT_ROOTS = ['skills', '.agents/skills', '.claude/skills'] as const
export const DEFAULT_HOST = '127.0.0.1'
export const DEFAULT_PORT = 4114
/** That of the MCP server, which takes too long to load for a help text. */
export const DEFAULT_MAX_SESSIONS = 256
