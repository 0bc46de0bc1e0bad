import { SkillError } from '../errors.ts'
import type { FileSystem } from '../fs/file-system.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { parseSkillPath } from '../skill/skill-path.ts'
import { FOLDER_OPTIONS } from './check-file-source-options.ts'
import { FileSource } from './file-source.ts'
import type { FolderOptions } from './file-source-options.ts'

export interface AllowedPathsOptions extends FolderOptions {
  /** Name of the folder that contains the skills in each allowed path. @default 'skills' */
  readonly dirName?: string
  /**
   * Other folders that contain skills in each allowed path, such as `.agents/skills`. Skills in a later folder
   * override skills in an earlier folder, and skills in `dirName` override both.
   * @default []
   */
  readonly extraDirNames?: readonly string[]
}

const KNOWN: KnownOptions<AllowedPathsOptions> = {
  dirName: true,
  extraDirNames: true,
  ...FOLDER_OPTIONS,
}

/**
 * Creates sources for the skill folders in the paths that an agent may use. Create the runtime with
 * `onDuplicate: 'last-wins'`. A skill in a later path then overrides a skill of the same name in an earlier path.
 * Within one path, skills in `dirName` override skills in other folders. The folders need not exist yet. Each source
 * finds the skills one level below its folder, and also accepts the folder itself as a skill.
 * @throws {SkillError} INVALID_OPTION for an empty path; INVALID_PATH for a folder name that leaves its path
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { NodeFileSystem } from '@skillstoke/core/node'
 * import { fromAllowedPaths } from '@skillstoke/core/source'
 *
 * const sources = fromAllowedPaths(new NodeFileSystem(), [process.cwd()], { extraDirNames: ['.agents/skills'] })
 * await using skills = await createSkillRuntime({ sources, onDuplicate: 'last-wins' })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'support-pdf' ]
 * ```
 */
export function fromAllowedPaths(
  fileSystem: FileSystem,
  allowedPaths: readonly string[],
  options: AllowedPathsOptions = {},
): readonly FileSource[] {
  checkOptions('fromAllowedPaths()', options, KNOWN)
  const { dirName = 'skills', extraDirNames = [], limits, ...rest } = options
  const names = [...extraDirNames.filter(name => name !== dirName), dirName].map(parseSkillPath)
  return allowedPaths.flatMap((path, index) => {
    if (path === '')
      throw new SkillError('INVALID_OPTION', `allowed path ${index + 1} is empty; name a folder`)
    const base = path.length > 1 ? path.replace(/\/$/, '') : path
    return names.map(
      name =>
        new FileSource({
          ...rest,
          fileSystem,
          root: base === '/' ? `/${name}` : `${base}/${name}`,
          label: `path-${index + 1}/${name}`,
          limits: { maxDiscoveryDepth: 1, ...limits },
          hasDirectories: rest.hasDirectories ?? true,
        }),
    )
  })
}
