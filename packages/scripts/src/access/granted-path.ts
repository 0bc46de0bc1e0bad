import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { isInside } from '@skillstoke/core/internal'
import type { ScriptCapability } from '@skillstoke/core/source'

/** A granted path in two forms: as it was written, and with all links resolved. */
export interface GrantedPath {
  readonly grant: ScriptCapability
  readonly path: string
  readonly real: string
}

/** The folder to which relative paths in grants refer. */
export interface Base {
  readonly path: string
  readonly real: string
}

export async function toBase(folder: string): Promise<Base> {
  const path = resolve(folder)
  return { path, real: await findReal(path) }
}

/**
 * Resolves the path of a grant, for example `docs` in `fs.read:docs`. Refuses a path that contains a link, because a script may have created the link or may change its target. Only the workspace folder and the home folder may be links.
 * @throws {SkillError} SCRIPT_REFUSED
 */
export async function resolveGrantedPath(grant: ScriptCapability, workspace: Base): Promise<GrantedPath> {
  const written = grant.slice(grant.indexOf(':') + 1)
  const path = resolve(workspace.path, written.replace(/^~(?=\/|$)/, homedir()))
  const real = await findReal(path)
  const bases = [workspace, await toBase(homedir())].filter(base => isInsideFolder(path, base.path))
  const isDirect = bases.some(base => real === join(base.real, relative(base.path, path)))
  if (isDirect || real === path) return { grant, path, real }
  throw new SkillError(
    'SCRIPT_REFUSED',
    `${grant} is granted, but the path goes through a link to ${real}; grant that path itself if you meant it`,
  )
}

/** Resolves all links of a path. If the path does not exist, resolves the links of its existing parent folders. */
export async function findReal(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    return dirname(path) === path ? path : join(await findReal(dirname(path)), basename(path))
  }
}

/** Returns whether a path of this platform is the path of a folder, or is inside the folder. Ignores case on Windows. */
export function isInsideFolder(path: string, folder: string): boolean {
  return isInside(toComparable(path), toComparable(folder))
}

function toComparable(path: string): string {
  const absolute = resolve(path)
  return sep === '/' ? absolute : absolute.replaceAll(sep, '/').toLowerCase()
}
