import ignoreFactory, { type Ignore } from 'ignore'
import type { Hasher } from '../host.ts'
import { compareText } from './compare.ts'
import { type Digest, digestOf } from './digest.ts'

/** One regular file of a skill's folder. */
export interface SkillFile {
  /** Path relative to the skill's folder, `/`-separated, NFC. */
  readonly path: string
  readonly digest: Digest
  /** In bytes. */
  readonly size: number
  readonly isExecutable: boolean
}

/**
 * Computes the digest of a whole folder: SHA-256 over `path NUL exec-bit NUL sha256 LF` for each file, sorted bytewise
 * by path. Folders with the same content have the same digest on every machine. `files` must be sorted (`sortFiles`).
 */
export function revisionOf(files: readonly SkillFile[], hasher: Hasher): Digest {
  let text = ''
  for (const file of files)
    text += `${file.path}\0${file.isExecutable ? '1' : '0'}\0${file.digest.slice(7)}\n`
  return digestOf(text, hasher)
}

export function sortFiles(files: readonly SkillFile[]): SkillFile[] {
  return files.toSorted((a, b) => compareText(a.path, b.path))
}

/**
 * A function that returns whether `.skillignore` excludes the file or folder at a path. The patterns are those of
 * `.gitignore`.
 */
export type IgnoreRules = (path: string, isDirectory: boolean) => boolean

export function parseIgnoreFile(text: string): IgnoreRules {
  const rules: Ignore = ignoreFactory().add(text)
  return (path, isDirectory) => rules.ignores(isDirectory ? `${path}/` : path)
}
