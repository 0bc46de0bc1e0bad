import { SkillError, toMessage } from '../errors.ts'
import type { FileSystem } from '../fs/file-system.ts'
import { isInside } from '../is-inside.ts'
import { quote } from '../quote.ts'
import type { FollowedTarget } from './entry-classifier.ts'
import { type DirectoryNode, realPathOf, type ScanPass } from './mirror.ts'

/** The directory that contains a link. */
export interface LinkContext {
  readonly fileSystem: FileSystem
  readonly node: DirectoryNode
  /** Its absolute path. */
  readonly path: string
  /** Whether the directory is the folder of a skill or inside one. */
  readonly inSkill: boolean
  readonly pass: ScanPass
  /** Whether a directory with the name of the link is walked. */
  readonly isWalked: (name: string) => boolean
}

/** Finds what a link leads to. Outside of skills, only a link to a directory counts. */
export async function followLink(name: string, context: LinkContext): Promise<FollowedTarget> {
  const { fileSystem, path, inSkill, node, isWalked } = context
  try {
    const target = await fileSystem.stat(`${path}/${name}`)
    if (target.kind === 'directory') return isWalked(name) ? await followDirectory(name, context) : undefined
    if (!inSkill) return undefined
    if (target.kind === 'file') return 'file'
    return { reason: 'links to a special file', fix: 'remove the link' }
  } catch (thrown) {
    node.isRacy = true // the target may appear without a change here, so every sweep lists the directory again
    if (!inSkill && !SkillError.isInstance(thrown, 'IO_FAILED')) return undefined
    return {
      reason: `cannot be followed: ${toMessage(thrown)}`,
      fix: 'point the link at an existing file',
    }
  }
}

async function followDirectory(
  name: string,
  { fileSystem, node, path, pass }: LinkContext,
): Promise<FollowedTarget> {
  const realPath = await fileSystem.resolve(`${path}/${name}`)
  if (!pass.insideFolders.some(folder => isInside(realPath, folder))) {
    return {
      reason: `links to ${quote(realPath)}, which is outside the root`,
      fix: 'copy the folder; allow it with linkRoots or --link-root only if agents may read all of it',
    }
  }
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent)
    if (isInside(realPathOf(at, pass.rootRealPath), realPath))
      return { reason: 'links back to a folder above it', fix: 'remove the link' }
  return { realPath }
}
