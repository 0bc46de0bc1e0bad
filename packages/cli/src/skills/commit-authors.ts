import { createHash } from 'node:crypto'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { findMeant } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import { runGit } from './run-git.ts'

/** A commit that changed a folder. */
interface FolderCommit {
  readonly author: string
  readonly subject: string
  /** Number of newer commits. */
  readonly age: number
}

// Older steps keep their recorded authors, because all files of a step have to be read.
const MAX_STEPS = 50

/**
 * Returns the steps of a skill, newest first. The first step whose files were all committed to the git work tree of the
 * folder gets the author and the subject of the last of these commits. Other steps, and folders outside of a work tree,
 * stay as recorded.
 */
export async function listHistory(name: string, skills: SkillRuntime): Promise<readonly RevisionRecord[]> {
  const records = await skills.history.log(name)
  const directory = findMeant(name, skills.current, skills)?.report.directory
  const writers = directory === undefined ? undefined : await listWriters(directory)
  if (writers === undefined) return records
  const named = new Set<FolderCommit>()
  const shown: RevisionRecord[] = []
  for (const record of records.slice(0, MAX_STEPS).toReversed()) {
    const ids = await listBlobs(name, record, skills)
    const commits = ids.flatMap(id => writers.get(id) ?? []).sort((a, b) => a.age - b.age)
    const commit = commits.length === ids.length ? commits[0] : undefined
    if (commit === undefined || named.has(commit)) shown.unshift(record)
    else {
      const { author, subject } = commit
      shown.unshift({ ...record, author: { kind: 'commit', name: author }, note: record.note ?? subject })
      named.add(commit)
    }
  }
  return [...shown, ...records.slice(MAX_STEPS)]
}

/** Returns git's id and the path of each file of a step. Empty if an author is known, or the files are no longer stored. */
async function listBlobs(
  name: string,
  { revision, author, event }: RevisionRecord,
  skills: SkillRuntime,
): Promise<readonly string[]> {
  if (revision === undefined || author.name !== undefined || event === 'decided') return []
  try {
    const skill = await skills.history.read(name, revision)
    return await Promise.all(
      skill.files.map(async ({ path }) => {
        const bytes = await skills.readFile(skill, path)
        const id = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
        return `${id} ${path}`
      }),
    )
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return []
    throw thrown
  }
}

/**
 * Returns the commit that wrote each version of each file of a folder. Returns `undefined` if the folder is in no work
 * tree, or git is missing.
 */
async function listWriters(directory: string): Promise<ReadonlyMap<string, FolderCommit> | undefined> {
  const options = ['--raw', '-z', '--no-abbrev', '--no-renames', '--relative', '--first-parent', '-m']
  try {
    return readWriters(await runGit(directory, ['log', '--format=%x1e%an%x1f%s', ...options, '--', '.']))
  } catch {
    return undefined
  }
}

/** Reads the commits, newest first. If several commits wrote the same version of a file, the oldest one counts. */
function readWriters(log: string): ReadonlyMap<string, FolderCommit> {
  const writers = new Map<string, FolderCommit>()
  for (const [age, text] of log.split('\x1e').slice(1).entries()) {
    const [author = '', subject = ''] = (text.split('\0')[0] ?? '').split('\x1f')
    const commit = { author, subject, age }
    for (const [, id, path] of text.matchAll(/:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) \w\0([^\0]+)\0/g))
      writers.set(`${id} ${path}`, commit)
  }
  return writers
}
