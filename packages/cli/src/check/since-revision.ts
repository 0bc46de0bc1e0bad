import { join, relative, sep } from 'node:path'
import { parseSkill, type TokenCounter } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
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

/** The files that changed since a revision of git. */
export interface Changes {
  /** Whether a file in this folder changed. */
  has(folder: string): boolean
  /** Returns the tokens of a SKILL.md before and now. */
  compare(file: string, text: string, countTokens: TokenCounter): Promise<TokenChange>
}

/**
 * Asks git what changed since a revision, with files that git does not follow yet.
 * @throws {UsageError} when git does not know the revision
 */
export async function readChanges(revision: string, directory: string): Promise<Changes> {
  const commit = await findCommit(revision, directory)
  const top = (await runGit(directory, 'rev-parse', '--show-toplevel')).trim()
  const list = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await runGit(top, ...words))
      .split('\0')
      .filter(Boolean)
      .map(path => join(top, path))
  const changed = [
    ...(await list('diff', '--name-only', '-z', commit)),
    ...(await list('ls-files', '--others', '--exclude-standard', '-z')),
  ]
  return {
    has: folder => changed.some(path => path.startsWith(folder + sep)),
    compare: async (file, text, count) => {
      const path = relative(top, file).split(sep).join('/')
      // A file that git cannot show is new.
      const old = await runGit(top, 'show', `${commit}:${path}`).catch(() => '')
      return { before: countOf(old, count), after: countOf(text, count) }
    },
  }
}

async function findCommit(revision: string, directory: string): Promise<string> {
  try {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    return (await runGit(directory, ...words)).trim()
  } catch {
    throw new UsageError(`git knows no revision ${quote(revision)} here; name a commit, a branch or a tag`)
  }
}

function countOf(text: string, count: TokenCounter): Tokens {
  const parsed = parseSkill(new TextEncoder().encode(text))
  if (!parsed.ok) return { listed: 0, body: 0 }
  const { name, description, body } = parsed.value
  return { listed: count(`${name} ${description}`), body: count(body) }
}
