import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DEFAULT_SETTLE } from '../source-entry.ts'

/**
 * Whether git is changing the work tree that holds one of these directories: it keeps `index.lock` for as long as a
 * checkout, merge or reset writes files.
 */
export function isGitBusy(directories: readonly string[]): boolean {
  const gitDirectories = new Set<string>()
  for (const directory of directories) {
    try {
      const found = findGitDirectory(directory)
      if (found !== undefined) gitDirectories.add(found)
    } catch {
      // A folder above that may not be looked into: whoever works in it is not known, and settling has to do.
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

/** Worktrees and submodules have a file that says where their git directory is. */
function readPointer(file: string, base: string): string | undefined {
  const target = /^gitdir: (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1]
  return target === undefined ? undefined : resolve(base, target.trim())
}

/** A git that was killed leaves its lock behind; one that is older than anybody would wait for says nothing. */
function isFresh(lock: string): boolean {
  const stats = statSync(lock, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs < DEFAULT_SETTLE.maxBusyMs
}
