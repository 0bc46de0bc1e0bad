import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/**
 * Whether a path is inside a folder. Compares real paths, so the target of a link counts and not the place of the link.
 */
export function isReallyInside(path: string, folder: string): boolean {
  const [realFolder, real] = [realPath(folder), realPath(path)]
  if (realFolder === undefined || real === undefined) return false
  return !leadsOut(relative(realFolder, real))
}

/**
 * Whether the result of `relative()` leads out of the folder. Names such as `..data`, which Kubernetes uses, do not lead
 * out of it.
 */
export function leadsOut(fromFolder: string): boolean {
  return fromFolder === '..' || fromFolder.startsWith(`..${sep}`) || isAbsolute(fromFolder)
}

/** Returns the target of a link. Returns `undefined` if the path does not exist or is not a link. */
export function findLinkTarget(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? realPath(path) : undefined
}

/**
 * Returns the real path, even if the file or the target of a link does not exist yet. Returns `undefined` if the real
 * path cannot be determined.
 */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (thrown) {
    const parent = dirname(path)
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) return undefined
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      return realPath(resolve(parent, readlinkSync(path)))
    const realParent = realPath(parent)
    return realParent === undefined ? undefined : join(realParent, basename(path))
  }
}
