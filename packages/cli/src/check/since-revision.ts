import { execFileSync } from 'node:child_process'
import { join, relative, sep } from 'node:path'
import { parseSkill, type TokenCounter } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
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
  compare(file: string, bytes: Uint8Array, countTokens: TokenCounter): TokenChange
}

/** Asks git what changed since a revision. @throws {UsageError} when git does not know the revision */
export function readChanges(revision: string, directory: string): Changes {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  let commit: string
  try {
    commit = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`).trim()
  } catch {
    throw new UsageError(`git knows no revision ${quote(revision)} here; name a commit, a branch or a tag`)
  }
  const top = git('rev-parse', '--show-toplevel').trim()
  const list = (...args: readonly string[]): readonly string[] =>
    git(...args)
      .split('\0')
      .filter(Boolean)
      .map(path => join(top, path))
  const changed = [
    ...list('diff', '--name-only', '-z', commit),
    ...list('ls-files', '--full-name', '--others', '--exclude-standard', '-z', top),
  ]
  const readOld = (file: string): Uint8Array => {
    try {
      const path = relative(top, file).split(sep).join('/')
      return execFileSync('git', ['-C', top, 'show', `${commit}:${path}`], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    } catch {
      return new Uint8Array() // the file is new
    }
  }
  return {
    has: folder => changed.some(path => path.startsWith(folder + sep)),
    compare: (file, bytes, count) => ({
      before: countOf(readOld(file), count),
      after: countOf(bytes, count),
    }),
  }
}

function countOf(bytes: Uint8Array, count: TokenCounter): Tokens {
  const parsed = parseSkill(bytes)
  if (!parsed.ok) return { listed: 0, body: 0 }
  const { name, description, body } = parsed.value
  return { listed: count(`${name} ${description}`), body: count(body) }
}
