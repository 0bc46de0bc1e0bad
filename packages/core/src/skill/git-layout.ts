/** The name and the kind of an entry of a folder. Every kind except `file` and `directory` may turn out to be either. */
export interface NamedEntry {
  readonly name: string
  readonly kind: string
}

const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu
const NOT_ASCII = /[^\u0020-\u007e]/

// Git refuses these names in a tree: HFS+ ignores some code points, and NTFS ignores trailing dots and spaces, opens a
// stream after a colon, and gives `.git` the short name `git~1`.
const GIT = /^(?:\.git|git~1)[. ]*(?:[:\\].*)?$/i

/** Whether some disk treats a name as `.git`. */
export function isGitName(name: string): boolean {
  return GIT.test(NOT_ASCII.test(name) ? name.replace(IGNORABLE, '') : name)
}

/** Names that git gives to the entries of a repository, in lower case. */
const REPOSITORY_ENTRIES: ReadonlySet<string> = new Set([
  ...['head', 'config', 'config.worktree', 'objects', 'refs', 'packed-refs', 'commondir', 'gitdir', 'hooks'],
  ...['info', 'description', 'index', 'logs', 'branches', 'worktrees', 'modules', 'shallow'],
  ...['orig_head', 'fetch_head', 'merge_head', 'commit_editmsg'],
])

/** Whether git gives this name to an entry of a repository, on a disk that ignores case. */
export function isRepositoryEntry(name: string): boolean {
  return REPOSITORY_ENTRIES.has(fold(name))
}

/**
 * Whether git treats a folder with these entries as a repository without a `.git`. Git then reads `config`, which can name
 * programs to run. Git needs `HEAD`, and `objects` and `refs` either in the folder or in the folder that `commondir` names.
 */
export function isRepository(entries: readonly NamedEntry[]): boolean {
  if (!entries.some(({ name }) => isHead(name))) return false
  const has = (wanted: string, other: string): boolean =>
    entries.some(({ name, kind }) => kind !== other && fold(name) === wanted)
  return (
    has('head', 'directory') &&
    (has('commondir', 'directory') || (has('objects', 'file') && has('refs', 'file')))
  )
}

/** Finds a folder that `isRepository()`, among the files of a skill. Returns the path of its `HEAD`. */
export function findRepository(paths: readonly string[]): string | undefined {
  const heads = paths.filter(path => isHead(path.slice(path.lastIndexOf('/') + 1)))
  return heads.find(head => isRepository(listBeside(head, paths)))
}

/** Lists the entries of the folder that contains a file. Folders whose names differ only in case count as one folder. */
function listBeside(file: string, paths: readonly string[]): NamedEntry[] {
  const folder = foldPath(file.slice(0, file.lastIndexOf('/') + 1))
  return paths.flatMap(path => {
    const folded = foldPath(path)
    if (!folded.startsWith(folder)) return []
    const [name = '', ...rest] = folded.slice(folder.length).split('/')
    return { name, kind: rest.length === 0 ? 'file' : 'directory' }
  })
}

/** Equals `fold(name) === 'head'`, but is fast for the names of most entries. */
function isHead(name: string): boolean {
  return (NOT_ASCII.test(name) || /^head/i.test(name)) && fold(name) === 'head'
}

function foldPath(path: string): string {
  return path.split('/').map(fold).join('/')
}

/** Returns the form in which disks that ignore case, trailing dots or invisible characters compare a name. */
function fold(name: string): string {
  return name
    .replace(IGNORABLE, '')
    .replace(/[. ]+$/, '')
    .toLowerCase()
}
