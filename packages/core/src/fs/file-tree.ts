import type { FileKind } from './file-system.ts'

/** One entry of a tree. */
export interface TreeFile {
  /** Relative path with `/` as separator, exactly as the medium has it: neither checked nor normalised. */
  readonly path: string
  readonly kind: Exclude<FileKind, 'directory'>
  /** Size in bytes; 0 for entries that are not files. */
  readonly size: number
  readonly isExecutable: boolean
  /** Digest of the content: at least 32 hexadecimal digits, equal only for equal bytes. */
  readonly id: string
  /** Where a store can read the same bytes later instead of copying them. */
  readonly locator?: string
  /** Returns the bytes. Called for files only. */
  read(signal: AbortSignal | undefined): Promise<Uint8Array>
}

/** All files of a remote place at one moment. Immutable; a newer state is a new tree. */
export interface FileTree {
  /** Identifier of this state: a commit, a digest or an entity tag. */
  readonly version: string
  readonly files: readonly TreeFile[]
}
