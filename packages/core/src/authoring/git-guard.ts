import { SkillError } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { quote } from '../quote.ts'
import { findRepository, isGitName, isRepository, isRepositoryEntry } from '../skill/git-layout.ts'
import { listFolder } from './list-folder.ts'

/** A folder into which files are to be written. */
export interface GuardedFolder {
  readonly fileSystem: WritableFileSystem
  /** Absolute path of the source's folder. */
  readonly root: string
  /** Path of the folder within the source; empty for the source's folder itself. */
  readonly location: string
}

/**
 * Refuses files that git would take for its own data, because git runs programs that its configuration names. A file may
 * also complete a repository whose other files are already in the folder.
 * @param paths relative to the folder
 * @throws {SkillError} INVALID_PATH
 */
export async function refuseGit(
  { fileSystem, root, location }: GuardedFolder,
  paths: readonly string[],
): Promise<void> {
  const prefix = location === '' ? '' : `${location}/`
  const head = findRepository(paths)
  if (head !== undefined) throw refusal(head, 'would make its folder a git repository')
  for (const path of paths) {
    const segments = `${prefix}${path}`.split('/')
    for (const [index, name] of segments.entries()) {
      if (isGitName(name)) throw refusal(path, `has ${quote(name)}, which is ".git" on some disks`)
      if (!isRepositoryEntry(name)) continue
      const kind = index < segments.length - 1 ? 'directory' : 'file'
      const beside = (await listFolder(fileSystem, [root, ...segments.slice(0, index)].join('/'))) ?? []
      if (isRepository([...beside, { name, kind }])) throw refusal(path, 'would be part of a git repository')
    }
  }
}

function refusal(path: string, reason: string): SkillError {
  return new SkillError(
    'INVALID_PATH',
    `path ${quote(path)} ${reason}; git runs programs that such files name, so use another name`,
    { data: { path } },
  )
}
