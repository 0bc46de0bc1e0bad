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
      // A parent folder cannot be read, so its lock is unknown; settling has to suffice.
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

/** Worktrees and submodules have a file `.git` with the path of their git directory. */
function readPointer(file: string, base: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  return target === undefined ? undefined : resolve(base, target.trim())
}

/** A killed git leaves its lock behind, so a lock older than the longest wait is ignored. */
function isFresh(lock: string): boolean {
  const stats = statSync(lock, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs < DEFAULT_SETTLE.maxBusyMs
}
