import type { ListedSkill } from '../source/listed-skill.ts'
import type { FileKind } from './file-system.ts'

/** One entry of a tree. */
export interface TreeFile {
  /** Relative path with `/` as separator. The path is neither checked nor normalised. */
  readonly path: string
  readonly kind: Exclude<FileKind, 'directory'>
  /** Size in bytes; 0 for entries that are not files. */
  readonly size: number
  readonly isExecutable: boolean
  /** Digest of the content: at least 32 hexadecimal digits. Files with equal digests must have equal bytes. */
  readonly id: string
  /** Location from which a store can read the bytes later instead of copying them. */
  readonly locator?: string
  /** Returns the bytes. Called for files only. */
  read(signal: AbortSignal | undefined): Promise<Uint8Array>
}

/**
 * All files of a remote source at one moment. Immutable. When the remote source changes, a new tree replaces this tree.
 */
export interface FileTree {
  /** Identifier of the state that the tree shows: a commit, a digest or an entity tag. */
  readonly version: string
  readonly files: readonly TreeFile[]
  /** Skills whose files are retrieved when they are first needed. Their files are not in `files`. @default none */
  readonly listed?: readonly ListedSkill[]
}
