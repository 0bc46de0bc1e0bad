import { dirname, join } from 'node:path'
import type { Skill } from '@skillstoke/core'
import { replaceFolder } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import type { Available } from './available.ts'
import { type LockedSkill, projectFolder, readLock, writeLock } from './lock-file.ts'

/** Where a skill is copied from and to. */
export interface CopyPlace {
  /** The source, as the lock file names it. */
  readonly source: string
  /** Folder in the project. */
  readonly path: string
  /** Whether the folder already contains the files. */
  readonly isThere: boolean
}

/**
 * Replaces the folder of a skill with a new folder that contains the files of the skill, and the files of the replaced
 * folder that no skill contains. Then records the skill in the lock file, so that the lock file is correct even if this
 * process is killed before the next skill.
 */
export async function copySkill(
  skill: Skill,
  available: Available,
  { source, path, isThere }: CopyPlace,
  config: Config,
): Promise<LockedSkill> {
  const before = readLock(config)
  const root = dirname(join(projectFolder(config), path))
  if (!isThere) {
    const swap = { fileSystem: new NodeFileSystem(), root, location: skill.name }
    const when = new Date().toISOString().replaceAll(/[:.]/g, '-')
    const parts = { paths: Object.keys(before[skill.name]?.files ?? {}), areAll: false }
    await replaceFolder(swap, await available.read(skill), { when, parts })
  }
  const locked: LockedSkill = {
    source,
    location: skill.location,
    version: available.version,
    path: path.replaceAll('\\', '/'),
    revision: skill.revision,
    files: Object.fromEntries(skill.files.map(file => [file.path, file.digest])),
  }
  await writeLock(config, { ...before, [skill.name]: locked })
  return locked
}
