import { createHash } from 'node:crypto'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { findLeftOutIn, findMeant } from '@skillstoke/core/internal'
import type { RevisionRecord } from '@skillstoke/core/source'
import { runGit } from './run-git.ts'

/** A commit that changed a folder. */
interface FolderCommit {
  readonly author: string
  readonly subject: string
  /** Git's id of each file in the folder after this commit. */
  readonly files: ReadonlyMap<string, string>
}

// Older steps keep their recorded authors, because all files of a step have to be read.
const MAX_STEPS = 50

/**
 * Returns the steps of a skill, newest first. A step whose files were committed to the git work tree of the folder gets
 * the author and the subject of that commit. Other steps, and folders outside of a work tree, stay as recorded.
 */
export async function listHistory(name: string, skills: SkillRuntime): Promise<readonly RevisionRecord[]> {
  const records = await skills.history.log(name)
  const directory = findMeant(name, skills.current, skills)?.report.directory
  const commits = directory === undefined ? [] : await listCommits(directory)
  const shown: RevisionRecord[] = []
  for (const [index, record] of records.entries()) {
    const files =
      commits.length === 0 || index >= MAX_STEPS ? undefined : await listBlobs(name, record, skills)
    const at = files === undefined ? -1 : commits.findIndex(commit => isSame(commit.files, files))
    // Both lists begin with the newest entry, and a step is never older than a commit of a later step.
    const commit = at === -1 ? undefined : commits.splice(0, at + 1).at(-1)
    if (commit === undefined) shown.push(record)
    else {
      const { author, subject } = commit
      shown.push({ ...record, author: { kind: 'commit', name: author }, note: record.note ?? subject })
    }
  }
  return shown
}

/** Returns git's ids of the files of a step; `undefined` if an author is known, or the files are no longer stored. */
async function listBlobs(
  name: string,
  { revision, author, event }: RevisionRecord,
  skills: SkillRuntime,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (revision === undefined || author.name !== undefined || event === 'decided') return undefined
  try {
    const skill = await skills.history.read(name, revision)
    const blobs = new Map<string, string>()
    for (const { path } of skill.files) {
      const bytes = await skills.readFile(skill, path)
      blobs.set(path, createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex'))
    }
    return blobs
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}

function isSame(committed: ReadonlyMap<string, string>, files: ReadonlyMap<string, string>): boolean {
  return (
    [...files].every(([path, id]) => committed.get(path) === id) &&
    [...committed.keys()].every(path => files.has(path) || findLeftOutIn(path) !== undefined)
  )
}

/** Lists the commits that changed a folder, newest first. Empty if the folder is in no work tree, or git is missing. */
async function listCommits(directory: string): Promise<FolderCommit[]> {
  try {
    const options = ['--raw', '-z', '--no-abbrev', '--no-renames', '--relative', '--first-parent', '-m']
    return readCommits(
      await runGit(directory, 'log', '--format=%x1e%an%x1f%s', '--reverse', ...options, '--', '.'),
    )
  } catch {
    return []
  }
}

/** Reads the commits, oldest first. Each names the files that it changed, and their new ids. */
function readCommits(log: string): FolderCommit[] {
  const files = new Map<string, string>()
  const commits = log
    .split('\x1e')
    .slice(1)
    .map(text => {
      const [author = '', subject = ''] = (text.split('\0')[0] ?? '').split('\x1f')
      for (const [, id = '', path = ''] of text.matchAll(/:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) \w\0([^\0]+)\0/g)) {
        if (/^0+$/.test(id)) files.delete(path)
        else files.set(path, id)
      }
      return { author, subject, files: new Map(files) }
    })
  return commits.reverse()
}
