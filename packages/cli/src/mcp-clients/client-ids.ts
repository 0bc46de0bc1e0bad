/** The clients that `stoke mcp install` knows. */
export const MCP_CLIENT_IDS = [
  'claude-code',
  'claude-desktop',
  'codex',
  'cursor',
  'vscode',
  'gemini',
  'opencode',
  'windsurf',
  'zed',
  'goose',
  'inspector',
] as const

export type McpClientId = (typeof MCP_CLIENT_IDS)[number]

/** Where the configuration of a client applies: in one project, or everywhere for this user. */
export const CONFIG_SCOPES = ['project', 'user'] as const

export type ConfigScope = (typeof CONFIG_SCOPES)[number]
