/** The parts of a GitHub URL. */
export interface GitHubAddress {
  readonly owner: string
  readonly repo: string
  /** @default 'main' */
  readonly branch: string
  /** Folder within the repository, with `/` between names; empty for the whole repository. */
  readonly subdir: string
}

const ADDRESS =
  /^https?:\/\/(?:www\.)?github\.com\/([\w.-]+)\/([\w.-]+?)(?:\.git)?(?:\/tree\/([^/?#]+)(?:\/([^?#]+?))?)?\/*$/i

/**
 * Splits a GitHub URL into its parts; returns `null` for any other text. In `tree/a/b`, `a` is returned as the
 * branch, although the branch may be named `a/b`. `GitHubPollingWatcher` finds the actual branch name by asking the repository.
 *
 * @example
 * ```ts
 * import { parseGithubUrl } from '@skillstoke/compat'
 *
 * const address = parseGithubUrl('https://github.com/acme/skills/tree/main/team')
 * console.log(address?.owner, address?.repo, address?.branch, address?.subdir) // prints acme skills main team
 * console.log(parseGithubUrl('https://example.com/skills')) // prints null
 * ```
 */
export function parseGithubUrl(url: string): GitHubAddress | null {
  const [, owner = '', repo = '', branch = 'main', subdir = ''] = ADDRESS.exec(url.trim()) ?? []
  const parts = decodeAll([owner, repo, branch, ...subdir.split('/').filter(part => part !== '')])
  if (owner === '' || parts === undefined) return null
  const [, , decodedBranch = '', ...folders] = parts
  return Object.freeze({ owner, repo, branch: decodedBranch, subdir: folders.join('/') })
}

/** Decodes all parts. Returns `undefined` if a part must not be used in a path, for example `..`. */
function decodeAll(parts: readonly string[]): readonly string[] | undefined {
  try {
    const decoded = parts.map(decodeURIComponent)
    return decoded.some(part => /^\.{0,2}$|[/\\\p{Cc}]/u.test(part) || part.startsWith('-'))
      ? undefined
      : decoded
  } catch {
    return undefined // malformed percent encoding
  }
}
