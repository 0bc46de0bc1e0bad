import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DEFAULT_SETTLE } from '../source-entry.ts'

/**
 * Returns whether git is changing the work tree that contains one of these directories. Git keeps `index.lock` while a
 * checkout, merge or reset writes files.
 */
export function isGitBusy(directories: readonly string[]): boolean {
  const gitDirectories = new Set<string>()
  for (const directory of directories) {
    try {
      const found = findGitDirectory(directory)
      if (found !== undefined) gitDirectories.add(found)
    } catch {
      // A git lock in an unreadable parent folder goes unnoticed. In this case, the source only waits for writes to
      // settle.
    }
  }
  return [...gitDirectories].some(directory => isFresh(join(directory, 'index.lock')))
}

function findGitDirectory(from: string): string | undefined {
  for (let at = resolve(from); ; at = dirname(at)) {
    const candidate = join(at, '.git')
    const stats = statSync(candidate, { throwIfNoEntry: false })
    if (stats?.isDirectory()) return candidate
    if (stats?.isFile()) return readPointer(candidate, at)
    if (dirname(at) === at) return undefined
  }
}

/** In worktrees and submodules, `.git` is a file that contains the path of the git directory. */
function readPointer(file: string, base: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  return target === undefined ? undefined : resolve(base, target.trim())
}

/** Returns false for a lock that is older than `maxBusyMs`, because a killed git leaves its lock behind. */
function isFresh(lock: string): boolean {
  const stats = statSync(lock, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs < DEFAULT_SETTLE.maxBusyMs
}
