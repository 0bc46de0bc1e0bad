import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** By where the paths really lead: a link that came with a project is no way out of it. */
export function isInside(path: string, folder: string): boolean {
  const [realFolder, real] = [realPath(folder), realPath(path)]
  if (realFolder === undefined || real === undefined) return false
  const fromFolder = relative(realFolder, real)
  return fromFolder !== '..' && !fromFolder.startsWith(`..${sep}`) && !isAbsolute(fromFolder)
}

/** Where a link leads; `undefined` for what is not there, or is no link. */
export function findLinkTarget(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? realPath(path) : undefined
}

/**
 * Where a path leads, or will lead once it is there: a link whose target is missing counts as well. `undefined` when that
 * cannot be told.
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
