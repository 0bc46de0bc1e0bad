import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import module from 'node:module'
import { basename, join } from 'node:path'

const FOLDER = 'code'
/** Node writes the cache when a process ends. One that lives longer writes it by then, since it may be killed. */
const FLUSH_AFTER_MS = 5_000

/**
 * Keeps the compiled code of modules that are loaded from now on in the state directory, for the next command. It is never kept
 * where another user could write, because what is found there runs, nor in a folder without a store, which is no state directory.
 * `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` come before it.
 */
export function enableCodeCache(stateDirectory: string): void {
  const folder = join(stateDirectory, FOLDER)
  let earlier: readonly string[]
  try {
    if (!isOursAlone(stateDirectory) || !hasStore(stateDirectory)) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (!isOursAlone(folder)) return
    earlier = readdirSync(folder)
  } catch {
    return // no state directory, or one that cannot be written to: without it, commands only start more slowly
  }
  // Bun and Deno have no compile cache.
  const { constants, enableCompileCache, flushCompileCache, getCompileCacheDir } = module
  if (constants?.compileCacheStatus === undefined) return
  const { status } = enableCompileCache(folder)
  if (status !== constants.compileCacheStatus.ENABLED) return
  setTimeout(flushCompileCache, FLUSH_AFTER_MS).unref()
  // Node makes a folder for each of its versions, and removes none.
  if (!earlier.includes(basename(getCompileCacheDir() ?? '')))
    removeOtherVersions(earlier.map(name => join(folder, name)))
}

function removeOtherVersions(folders: readonly string[]): void {
  for (const folder of folders) {
    if (basename(folder).startsWith(`${process.version}-`)) continue
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // It only takes up room; "stoke gc" removes it.
    }
  }
}

/** Removes what earlier commands have compiled. */
export function removeCodeCache(stateDirectory: string): void {
  rmSync(join(stateDirectory, FOLDER), { recursive: true, force: true })
}

function hasStore(stateDirectory: string): boolean {
  return statSync(join(stateDirectory, 'store', 'index.db'), { throwIfNoEntry: false }) !== undefined
}

/** Root counts as another user here: what it leaves in the folder of somebody would be no longer theirs to remove. */
function isOursAlone(folder: string): boolean {
  const { mode, uid } = statSync(folder)
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
}
