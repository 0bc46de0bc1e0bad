import { join } from 'node:path'
import { isGitName } from '@skillstoke/core/internal'

/**
 * Names of files and folders that control other programs: git hooks, and the instructions, skills and settings
 * of agents and editors. No script may write to files with these names.
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

/** Whether a name is guarded. Ignores letter case, as some file systems do, and knows the other spellings of `.git`. */
export function isGuardedName(name: string): boolean {
  return isGitName(name) || GUARDED_NAMES.includes(name.toLowerCase())
}

/** Returns the guarded paths of a folder, whether or not they exist. */
export function guardedPathsIn(folder: string): readonly string[] {
  return GUARDED_NAMES.map(name => join(folder, name))
}
