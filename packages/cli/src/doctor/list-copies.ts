import { homedir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, type Digest } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { AGENT_FOLDERS } from '../config/agent-folders.ts'
import { realPath } from '../config/real-path.ts'

/** One copy of a skill, in a root or in the folder of a client. */
export interface SkillCopy {
  readonly name: string
  /** The folder with skills that contains the copy. */
  readonly root: string
  readonly path: string
  readonly revision: Digest
}

/**
 * Folders in which clients look for skills, in a project or in the home folder, as their documentation names them (read
 * on 2026-11-26).
 */
const FOLDERS = [
  ...Object.values(AGENT_FOLDERS),
  ...['.codex/skills', '.copilot/skills', '.config/opencode/skills'],
]

/** Reads, in memory, every valid skill in these roots and in the folders of all clients. */
export async function listCopies(roots: readonly string[]): Promise<readonly SkillCopy[]> {
  const bases = [process.cwd(), homedir()]
  const all = [...roots, ...bases.flatMap(base => FOLDERS.map(path => join(base, path)))]
  // Several paths may lead to one folder.
  const folders = [...new Set(all.flatMap(path => realPath(path) ?? []))]
  const options = { watching: 'off', onMissing: 'empty', linkRoots: folders } as const
  const sources = folders.map(path => directory(path, { ...options, label: path }))
  await using skills = await createSkillRuntime({ sources, tuning: { hasher: nodeHasher } })
  return skills.current.reports().flatMap(report => {
    const { name, revision, copies = [] } = report
    return [report, ...copies].flatMap(({ source: root, directory: path }) =>
      path === undefined || revision === undefined ? [] : { name, root, path, revision },
    )
  })
}
