/**
 * The folder of a project in which each agent looks for skills, as its documentation names it (read on 2026-11-26).
 * Codex has no folder of its own. The other agents also read some folders of each other.
 */
export const AGENT_FOLDERS = {
  'claude-code': '.claude/skills',
  codex: '.agents/skills',
  cursor: '.cursor/skills',
  gemini: '.gemini/skills',
  opencode: '.opencode/skills',
  vscode: '.github/skills',
} as const

export type AgentId = keyof typeof AGENT_FOLDERS
