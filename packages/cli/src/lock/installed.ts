import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createSkillRuntime, type Skill } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import type { LockedSkill } from './lock-file.ts'

/** How the folder of a locked skill is now. */
export interface InstalledState {
  readonly kind: 'unmodified' | 'modified' | 'missing'
  /** Files that differ from the lock, sorted. */
  readonly changed: readonly string[]
}

/** Compares what is on the disk with the lock, file by file. */
export async function inspect(project: string, locked: LockedSkill): Promise<InstalledState> {
  const found = await readFolder(join(project, locked.path))
  // What is there and is no skill is somebody's own.
  if (found === undefined)
    return existsSync(join(project, locked.path))
      ? { kind: 'modified', changed: ['SKILL.md'] }
      : { kind: 'missing', changed: [] }
  const now = new Map(found.files.map(({ path, digest }) => [path, digest as string]))
  const changed = [...new Set([...now.keys(), ...Object.keys(locked.files)])]
    .filter(path => now.get(path) !== locked.files[path])
    .sort((a, b) => (a < b ? -1 : 1))
  if (found.isBroken) return { kind: 'modified', changed: changed.length > 0 ? changed : ['SKILL.md'] }
  // Modes are part of the revision, too.
  const isSame = changed.length === 0 && found.revision === locked.revision
  return { kind: isSame ? 'unmodified' : 'modified', changed }
}

interface Folder {
  readonly isBroken: boolean
  readonly revision: string | undefined
  readonly files: Skill['files']
}

/** The skill in a folder as it is read; `undefined` when there is none. */
async function readFolder(folder: string): Promise<Folder | undefined> {
  await using skills = await createSkillRuntime({
    sources: [directory(dirname(folder), { label: 'installed', watching: 'off' })],
    hasher: nodeHasher,
  })
  const report = skills.current.reports().find(({ location }) => location === basename(folder))
  if (report === undefined) return undefined
  const { skill } = skills.review.revisionsOf(report)
  return { isBroken: skill === undefined, revision: skill?.revision, files: skill?.files ?? [] }
}
