/** The parts of a GitHub URL. */
export interface GitHubAddress {
  readonly owner: string
  readonly repo: string
  /** @default 'main' */
  readonly branch: string
  /** Folder within the repository, `/`-separated; empty for all of it. */
  readonly subdir: string
}

const ADDRESS =
  /^https?:\/\/(?:www\.)?github\.com\/([\w.-]+)\/([\w.-]+?)(?:\.git)?(?:\/tree\/([^/?#]+)(?:\/([^?#]+?))?)?\/*$/i

/**
 * Takes a URL of GitHub apart; `null` for anything else. Only the repository knows which part of `tree/a/b` is a branch
 * with a slash in it: here the first part is the branch. `GitHubPollingWatcher` asks the repository.
 */
export function parseGithubUrl(url: string): GitHubAddress | null {
  const [, owner = '', repo = '', branch = 'main', subdir = ''] = ADDRESS.exec(url.trim()) ?? []
  const parts = decodeAll([owner, repo, branch, ...subdir.split('/').filter(part => part !== '')])
  if (owner === '' || parts === undefined) return null
  const [, , decodedBranch = '', ...folders] = parts
  return Object.freeze({ owner, repo, branch: decodedBranch, subdir: folders.join('/') })
}

/** `undefined` when a part leads elsewhere: it would become part of a path. */
function decodeAll(parts: readonly string[]): readonly string[] | undefined {
  try {
    const decoded = parts.map(decodeURIComponent)
    return decoded.some(part => /^\.{0,2}$|[/\\\p{Cc}]/u.test(part) || part.startsWith('-'))
      ? undefined
      : decoded
  } catch {
    return undefined // a percent sign that encodes nothing
  }
}
