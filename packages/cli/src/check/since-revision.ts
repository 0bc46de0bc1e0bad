import { realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { countTextEntry } from '@skillstoke/author/internal'
import { parseSkill, type TokenCounter } from '@skillstoke/core'
import { isInside, quote } from '@skillstoke/core/internal'
import { runGit } from '../skills/run-git.ts'
import { UsageError } from '../terminal/exit-code.ts'

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
  /** Whether the work tree contains a folder. */
  contains(folder: string): boolean
  /** Whether a file in this folder changed. */
  has(folder: string): boolean
  /** Returns the tokens of a SKILL.md before and now. */
  compare(file: string, text: string, countTokens: TokenCounter): Promise<TokenChange>
}

/**
 * Asks git what changed in the work tree of a folder since a revision, with files that git does not follow yet.
 * @throws {UsageError} when the folder is in no work tree, or when git does not know the revision
 */
export async function readChanges(revision: string, folder: string): Promise<Changes> {
  const top = await findTop(folder)
  const commit = await findCommit(revision, top)
  const list = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await runGit(top, ...words)).split('\0').filter(Boolean)
  const changed = [
    ...(await list(...(await withoutFilters(top)), 'diff', '--name-only', '-z', commit)),
    ...(await list('ls-files', '--others', '--exclude-standard', '-z')),
  ].map(path => join(top, path))
  return {
    contains: each => isInside(realpathSync(each), top),
    has: each => changed.some(path => isInside(path, realpathSync(each))),
    compare: async (file, text, count) => {
      const path = relative(top, realpathSync(file)).split(sep).join('/')
      // A file that git cannot show is new.
      const old = await runGit(top, 'cat-file', 'blob', `${commit}:${path}`).catch(() => '')
      return { before: countOf(file, old, count), after: countOf(file, text, count) }
    },
  }
}

/** Returns settings that switch off the filters of a repository, because filters are programs. */
async function withoutFilters(top: string): Promise<readonly string[]> {
  const words = ['config', '--null', '--name-only', '--get-regexp', String.raw`^filter\.`]
  // Git fails if there is none.
  const names = (await runGit(top, ...words).catch(() => '')).split('\0').filter(Boolean)
  const unsafe = names.find(name => name.includes('='))
  if (unsafe !== undefined)
    throw new UsageError(`the setting ${quote(unsafe)} of git cannot be switched off; rename it`)
  return names.flatMap(name => ['-c', `${name}=`])
}

async function findTop(folder: string): Promise<string> {
  try {
    return realpathSync((await runGit(folder, 'rev-parse', '--show-toplevel')).trim())
  } catch {
    throw new UsageError(`--since needs git and a repository, but ${quote(folder)} is in none`)
  }
}

async function findCommit(revision: string, top: string): Promise<string> {
  try {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    return (await runGit(top, ...words)).trim()
  } catch {
    throw new UsageError(
      `git knows no revision ${quote(revision)} in ${top}; name a commit, a branch or a tag`,
    )
  }
}

function countOf(path: string, text: string, countTokens: TokenCounter): Tokens {
  const bytes = new TextEncoder().encode(text)
  const parsed = parseSkill(bytes)
  const listed = countTextEntry({ path, bytes }, countTokens) ?? 0
  return { listed, body: parsed.ok ? countTokens(parsed.value.body) : 0 }
}
