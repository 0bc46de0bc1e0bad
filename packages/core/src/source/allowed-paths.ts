import { SkillError } from '../errors.ts'
import type { FileSystem } from '../fs/file-system.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { parseSkillPath } from '../skill/skill-path.ts'
import { FileSource } from './file-source.ts'
import type { FileSourceOptions } from './file-source-options.ts'

export interface AllowedPathsOptions
  extends Pick<
    FileSourceOptions,
    'trust' | 'watching' | 'layout' | 'reading' | 'onMissing' | 'limits' | 'hasDirectories' | 'clock'
  > {
  /** Folder of skills within each allowed path. @default 'skills' */
  readonly dirName?: string
  /** Further folders within each allowed path, such as `.agents/skills`: each yields to the next, all to `dirName`. @default [] */
  readonly extraDirNames?: readonly string[]
}

const KNOWN: KnownOptions<AllowedPathsOptions> = {
  dirName: true,
  extraDirNames: true,
  trust: true,
  layout: true,
  reading: true,
  limits: true,
  clock: true,
  onMissing: true,
  watching: true,
  hasDirectories: true,
}

/**
 * The folders of skills in the paths that an agent may use, for a runtime with `onDuplicate: 'last-wins'`: a later path
 * overrides an earlier one, and within one path `dirName` overrides the others. Folders need not exist yet. Skills are
 * looked for in a folder itself and one level below.
 * @throws {SkillError} INVALID_OPTION for an empty path; INVALID_PATH for a folder's name that leads out
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
