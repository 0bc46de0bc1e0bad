/** Default roots of a project. */
export const DEFAULT_ROOTS = ['skills', '.agents/skills', '.claude/skills'] as const
export const DEFAULT_HOST = '127.0.0.1'
export const DEFAULT_PORT = 4114
/**
 * Equals the default in `@skillstoke/mcp`. Repeated here, because importing `@skillstoke/mcp` is too slow for help
 * texts.
 */
export const DEFAULT_MAX_SESSIONS = 256
/** Name of the server in the configuration files of MCP clients. */
export const DEFAULT_SERVER_NAME = 'skillstoke'
