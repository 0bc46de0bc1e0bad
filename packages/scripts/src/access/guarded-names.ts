import { join } from 'node:path'

/**
 * Files and folders from which other programs take instructions: git hooks, and the instructions, skills and settings
 * of agents and editors. No script may write to them.
 */
const GUARDED_NAMES: readonly string[] = [
  '.git',
  '.github',
  '.husky',
  '.vscode',
  '.agents',
  '.claude',
  '.codex',
  '.cursor',
  '.gemini',
  '.opencode',
  '.windsurf',
  '.mcp.json',
  'agents.md',
  'claude.md',
  'gemini.md',
  'skillstoke.json',
]

/** Whether a name is guarded in any letter case, because some file systems ignore case. */
export function isGuardedName(name: string): boolean {
  return GUARDED_NAMES.includes(name.toLowerCase())
}

/** Returns the guarded paths of a folder, whether or not they exist. */
export function guardedPathsIn(folder: string): readonly string[] {
  return GUARDED_NAMES.map(name => join(folder, name))
}
