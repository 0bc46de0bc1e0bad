import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { createSkillRuntime, type Digest } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { AGENT_FOLDERS } from '../config/agent-folders.ts'
import { realPath } from '../config/real-path.ts'

/** One copy of a skill, in the folder of a client or in a root. */
export interface SkillCopy {
  readonly name: string
  /** The folder with skills in which the copy is. */
  readonly root: string
  /** Absolute path of the folder. */
  readonly path: string
  readonly revision: Digest
}

/** Folders of the user in which clients look for skills, as their documentation names them (read on 2026-11-26). */
const USER_FOLDERS = [
  ...['.agents/skills', '.claude/skills', '.cursor/skills', '.codex/skills', '.gemini/skills'],
  ...['.copilot/skills', '.config/opencode/skills'],
]

/** Returns the folders with skills of the project and of the user that exist, without a second path to the same folder. */
export function listClientFolders(
  roots: readonly string[],
  { project = process.cwd(), home = homedir() }: { readonly project?: string; readonly home?: string } = {},
): readonly string[] {
  const own = ['skills', '.codex/skills', ...Object.values(AGENT_FOLDERS)].map(path => join(project, path))
  const all = [...roots.map(path => resolve(path)), ...own, ...USER_FOLDERS.map(path => join(home, path))]
  return [...new Set(all.flatMap(path => realPath(path) ?? []))]
}

/** Reads every valid skill in these folders, in memory. */
export async function listCopies(folders: readonly string[]): Promise<readonly SkillCopy[]> {
  const sources = folders.map((path, index) =>
    directory(path, {
      label: `folder-${index}`,
      watching: 'off',
      linkRoots: folders.filter(each => each !== path),
    }),
  )
  await using skills = await createSkillRuntime({ sources, tuning: { hasher: nodeHasher } })
  const rootOf = (label: string): string => folders[Number(label.replace('folder-', ''))] ?? ''
  return skills.current.reports().flatMap(report => {
    const { name, revision, copies = [] } = report
    if (revision === undefined) return []
    return [report, ...copies].flatMap(({ source, directory: path }) =>
      path === undefined ? [] : { name, revision, path, root: rootOf(source) },
    )
  })
}

/** Returns the skills that have different files in different folders, each with all its copies. */
export function findDrift(copies: readonly SkillCopy[]): readonly (readonly SkillCopy[])[] {
  const groups = Object.values(Object.groupBy(copies, ({ name }) => name))
  return groups.flatMap(group =>
    group !== undefined && new Set(group.map(({ revision }) => revision)).size > 1 ? [group] : [],
  )
}
