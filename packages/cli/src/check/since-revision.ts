import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { countTextEntry } from '@skillstoke/author/internal'
import { parseSkill, type TokenCounter } from '@skillstoke/core'
import { isInside, quote } from '@skillstoke/core/internal'
import { runGit, toGitFault } from '../skills/run-git.ts'
import { UsageError } from '../terminal/exit-code.ts'

/** The difference to a revision of a large repository takes seconds. */
const TIMEOUT_MS = 60_000
/** Exit code of git for a name that it does not know. */
const UNKNOWN = 1

/** Tokens of a skill: in the catalog, and of its instructions. */
interface Tokens {
  readonly listed: number
  readonly body: number
}

/** The tokens of a skill at a revision of git, and now. */
export interface TokenChange {
  readonly before: Tokens
  readonly after: Tokens
}

/** The files of one work tree that changed since a revision of git. */
export interface Changes {
  /** Whether a file, or a file in a folder, changed. */
  has(path: string): boolean
  /** Returns the tokens of a SKILL.md before and now. */
  compare(folder: string, file: string, text: string, countTokens: TokenCounter): Promise<TokenChange>
}

/** What changed since a revision, in each work tree that contains a path. */
export class WorkTrees {
  readonly #revision: string
  readonly #trees = new Map<string, Promise<Changes | undefined>>()

  constructor(revision: string) {
    this.#revision = revision
  }

  /**
   * Returns what changed in the work tree of a path: `undefined` if git does not know the revision there, for example in a
   * submodule, and `outside` if no work tree contains the path.
   */
  async find(path: string): Promise<Changes | 'outside' | undefined> {
    const top = findTop(realpathSync(path))
    if (top === undefined) return 'outside'
    const tree = this.#trees.get(top) ?? readChanges(this.#revision, top)
    this.#trees.set(top, tree)
    return await tree
  }

  /** @throws {UsageError} when none of the work trees knows the revision */
  async check(): Promise<void> {
    const trees = await Promise.all(this.#trees.values())
    if (trees.length > 0 && trees.every(tree => tree === undefined))
      throw new UsageError(
        `git knows no revision ${quote(this.#revision)} here; name a commit, a branch or a tag`,
      )
  }
}

/** Returns the folder of the work tree that contains a path. */
function findTop(path: string): string | undefined {
  if (existsSync(join(path, '.git'))) return path
  return dirname(path) === path ? undefined : findTop(dirname(path))
}

/**
 * Asks git what changed, with files that git does not follow yet.
 * @throws {UsageError} when git fails
 */
async function readChanges(revision: string, top: string): Promise<Changes | undefined> {
  const commit = await findCommit(revision, top)
  if (commit === undefined) return undefined
  const list = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await ask(top, ...words)).split('\0').filter(Boolean)
  // Git would ask for the state of a submodule with the settings of that submodule. Skills there have a work tree of their own.
  const words = ['diff', '--name-only', '--no-renames', '--ignore-submodules=all', '-z', commit]
  const changed = [
    ...(await list(...(await withoutFilters(top)), ...words)),
    ...(await list('ls-files', '--others', '--exclude-standard', '-z')),
  ].map(path => join(top, path))
  return {
    has: path => changed.some(each => isInside(each, realpathSync(path))),
    compare: async (folder, file, text, count) => {
      // A file that git cannot show is new.
      const blob = `${commit}:${toGitPath(join(folder, file), top)}`
      const old = await runGit(top, ['cat-file', 'blob', blob]).catch(() => '')
      return { before: countOf(file, old, count), after: countOf(file, text, count) }
    },
  }
}

/** Runs git. @throws {UsageError} with the reason of git */
async function ask(top: string, ...words: readonly string[]): Promise<string> {
  try {
    return await runGit(top, words, { timeoutMs: TIMEOUT_MS })
  } catch (thrown) {
    throw new UsageError(`git cannot tell what changed in ${quote(top)}: ${toGitFault(thrown)}`)
  }
}

function toGitPath(path: string, top: string): string {
  return relative(top, join(realpathSync(dirname(path)), basename(path)))
    .split(sep)
    .join('/')
}

/** Returns settings that switch off the filters of a repository, because filters are programs. */
async function withoutFilters(top: string): Promise<readonly string[]> {
  const words = ['config', '--null', '--name-only', '--get-regexp', String.raw`^filter\.`]
  // Git fails if there is none.
  const names = (await runGit(top, words).catch(() => '')).split('\0').filter(Boolean)
  const unsafe = names.find(name => name.includes('='))
  if (unsafe !== undefined)
    throw new UsageError(`the setting ${quote(unsafe)} of git cannot be switched off; rename it`)
  return names.flatMap(name => ['-c', `${name}=`])
}

/**
 * Returns the id of a commit. Before the first commit, `HEAD` means an empty tree. In a submodule, a revision means the commit
 * that the outer repository records.
 */
async function findCommit(revision: string, top: string): Promise<string | undefined> {
  const recorded = await findRecorded(revision, top)
  if (recorded !== undefined) return recorded
  try {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    return (await runGit(top, words)).trim()
  } catch (thrown) {
    if ((thrown as { readonly code?: unknown }).code !== UNKNOWN)
      throw new UsageError(`git cannot read ${quote(top)}: ${toGitFault(thrown)}`)
    return revision === 'HEAD' ? (await ask(top, 'hash-object', '-t', 'tree', '/dev/null')).trim() : undefined
  }
}

/** Returns the commit of a submodule that the outer repository has, except if the command was started in the submodule. */
async function findRecorded(revision: string, top: string): Promise<string | undefined> {
  const outer = findTop(dirname(top))
  if (outer === undefined || findTop(realpathSync('.')) === top) return undefined
  // The outer repository may be of no use, for example if it belongs to another user.
  const commit = await findCommit(revision, outer).catch(() => undefined)
  if (commit === undefined) return undefined
  const words = ['ls-tree', '--end-of-options', commit, toGitPath(top, outer)]
  const entry = await runGit(outer, words).catch(() => '')
  return /^160000 commit ([0-9a-f]+)/.exec(entry)?.[1]
}

function countOf(path: string, text: string, countTokens: TokenCounter): Tokens {
  const bytes = new TextEncoder().encode(text)
  const parsed = parseSkill(bytes)
  const listed = countTextEntry({ path, bytes }, countTokens) ?? 0
  return { listed, body: parsed.ok ? countTokens(parsed.value.body) : 0 }
}
