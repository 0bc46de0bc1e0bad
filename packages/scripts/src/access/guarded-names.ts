import { join } from 'node:path'

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

/** Whether a name is guarded. Ignores letter case, as some file systems do. */
export function isGuardedName(name: string): boolean {
  return GUARDED_NAMES.includes(name.toLowerCase())
}

/** Returns the guarded paths of a folder, whether or not they exist. */
export function guardedPathsIn(folder: string): readonly string[] {
  return GUARDED_NAMES.map(name => join(folder, name))
}

/** Without one of these entries, a folder is no git repository. */
const REPOSITORY_MARKS = ['head', 'objects', 'refs']
const REPOSITORY_PARTS = [...REPOSITORY_MARKS, 'config', 'hooks']

/** Whether an entry can be a part of a git repository that has no `.git`. */
export function isRepositoryPart(name: string): boolean {
  return REPOSITORY_PARTS.includes(name.toLowerCase())
}

/** Whether a folder with these entries is a git repository without `.git`. In it, git runs programs that `config` names. */
export function isRepository(names: readonly string[]): boolean {
  const found = new Set(names.map(name => name.toLowerCase()))
  return REPOSITORY_MARKS.every(name => found.has(name))
}
