import { join } from 'node:path'

/**
 * Files and folders from which programs take orders when somebody works beside them: hooks of git, and the instructions,
 * skills and settings of agents and editors. No script writes to them.
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

/** File systems that ignore case find them under any spelling. */
export function isGuardedName(name: string): boolean {
  return GUARDED_NAMES.includes(name.toLowerCase())
}

/** Returns where they would be in a folder, whether they are there or not. */
export function guardedPathsIn(folder: string): readonly string[] {
  return GUARDED_NAMES.map(name => join(folder, name))
}
