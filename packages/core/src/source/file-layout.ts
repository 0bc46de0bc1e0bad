/** Which files and folders of a source are looked at. */
export const SKILL_FILE_NAMES: readonly string[] = Object.freeze(['SKILL.md', 'skill.md'])

export const IGNORE_FILE_NAME = '.skillignore'

const SKIPPED = new Set(['node_modules', '__pycache__', 'target'])

/**
 * Whether no skill is looked for below a directory: hidden ones, installed packages, caches and build output, and at
 * the top level of a source those that start with an underscore. The root itself is never skipped.
 */
export function isSkippedByDiscovery(name: string, depth: number): boolean {
  return name.startsWith('.') || SKIPPED.has(name) || (depth === 1 && name.startsWith('_'))
}
