import { basename, resolve } from 'node:path'
import { SkillError } from '../index.ts'
import { checkOptions, FOLDER_OPTIONS, type KnownOptions } from '../internal-entry.ts'
import { FileSource, type FileSourceOptions, type SkillSource } from '../source-entry.ts'
import { toSlashes } from './disk-facts.ts'
import { isGitBusy } from './git-lock.ts'
import { NodeFileSystem } from './node-file-system.ts'

export interface DirectoryOptions
  extends Omit<FileSourceOptions, 'fileSystem' | 'root' | 'label' | 'displayRoot' | 'writable' | 'isBusy'> {
  /** Name of the source in digests and messages. @default the folder's name */
  readonly label?: string
  /** Folders outside the source's folder that links may point to, for example the roots of other sources. */
  readonly linkRoots?: readonly string[]
  /**
   * Whether agents can use the paths of the folders. Set false if the agents run on other machines. @default true
   */
  readonly hasDirectories?: boolean
  /** Whether `SkillRuntime.writer` may write skills here. @default false */
  readonly writable?: boolean
}

const KNOWN: KnownOptions<DirectoryOptions> = { label: true, writable: true, ...FOLDER_OPTIONS }

/**
 * Returns a source for the skills below a folder of this machine. The folder may be created later. Unless
 * `onMissingRoot` is given or `writable` is true, Node prints one warning if the folder is missing when the source is first
 * read. A relative path is resolved against the working directory at the time of the call.
 * @throws {SkillError} INVALID_OPTION for an empty path
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({
 *   sources: [directory('./skills', { label: 'mine', writable: true })],
 * })
 * console.log(skills.status().map(({ label }) => label)) // prints [ 'mine' ]
 * ```
 */
export function directory(path: string, options: DirectoryOptions = {}): SkillSource {
  checkOptions('directory()', options, KNOWN)
  if (path.trim() === '')
    throw new SkillError(
      'INVALID_OPTION',
      'the path of the directory is empty; name a folder such as "./skills"',
    )
  const root = resolve(path)
  const { label, linkRoots, hasDirectories = true, writable, ...rest } = options
  const fileSystem = new NodeFileSystem()
  return new FileSource({
    // An agent that writes skills creates its folder with the first one.
    ...(writable === true ? {} : { onMissingRoot: warnAboutRoot }),
    ...rest,
    fileSystem,
    ...(writable === true ? { writable: fileSystem } : {}),
    root: toSlashes(root),
    displayRoot: path.replace(/(?!^)[\\/]+$/, ''),
    label: label ?? (basename(root) || 'root'),
    hasDirectories,
    linkRoots: (linkRoots ?? []).map(folder => toSlashes(resolve(folder))),
    isBusy: async directories => isGitBusy(directories),
  })
}

function warnAboutRoot(message: string): void {
  process.emitWarning(message, { code: 'ROOT_MISSING' })
}
