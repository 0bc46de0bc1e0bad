import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import module from 'node:module'
import { basename, join } from 'node:path'

const FOLDER = 'code'
/**
 * Time after which a process that still runs writes the cache. Node writes the cache only at a normal exit, but a
 * long-lived process may be killed.
 */
const FLUSH_AFTER_MS = 5_000

/**
 * Makes Node cache the compiled code of all modules that are loaded after this call. The cache is in the state
 * directory, and the next command loads these modules faster. Does nothing if the state directory has no store. Does
 * nothing if another user could write to the cache, because Node runs the cached code. The environment variables
 * `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` override this cache.
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
    return // no writable state directory; without a cache, commands only start more slowly
  }
  // Bun and Deno have no compile cache.
  const { constants, enableCompileCache, flushCompileCache, getCompileCacheDir } = module
  if (constants?.compileCacheStatus === undefined) return
  const { status } = enableCompileCache(folder)
  if (status !== constants.compileCacheStatus.ENABLED) return
  setTimeout(flushCompileCache, FLUSH_AFTER_MS).unref()
  // Node creates a cache folder for each Node version, and never removes such a folder.
  if (!earlier.includes(basename(getCompileCacheDir() ?? '')))
    removeOtherVersions(earlier.map(name => join(folder, name)))
}

function removeOtherVersions(folders: readonly string[]): void {
  for (const folder of folders) {
    if (basename(folder).startsWith(`${process.version}-`)) continue
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // Ignores a cache folder that cannot be removed, because it only wastes disk space until `stoke gc` removes it.
    }
  }
}

/** Removes the compiled code of earlier commands. */
export function removeCodeCache(stateDirectory: string): void {
  rmSync(join(stateDirectory, FOLDER), { recursive: true, force: true })
}

function hasStore(stateDirectory: string): boolean {
  return statSync(join(stateDirectory, 'store.sqlite'), { throwIfNoEntry: false }) !== undefined
}

/**
 * Returns true if the folder belongs to this user and only this user may write to it. If the user `root` wrote into the
 * folder of another user, that user could not remove the files.
 */
function isOursAlone(folder: string): boolean {
  const { mode, uid } = statSync(folder)
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
}
