import type { FileKind } from './file-system.ts'

/** One entry of a tree. */
export interface TreeFile {
  /** Relative, `/`-separated, as the medium has it: not checked, not normalised. */
  readonly path: string
  readonly kind: Exclude<FileKind, 'directory'>
  /** In bytes; 0 for what is no file. */
  readonly size: number
  readonly isExecutable: boolean
  /** At least 32 hexadecimal digits, equal for equal bytes and for nothing else: a digest of the content. */
  readonly id: string
  /** Where a store can find the same bytes later, instead of copying them. */
  readonly locator?: string
  /** The bytes; only called for files. */
  read(signal: AbortSignal | undefined): Promise<Uint8Array>
}

/** Everything that a remote place held at one moment. Immutable: a newer state is another tree. */
export interface FileTree {
  /** What tells this state from others: a commit, a digest, an entity tag. */
  readonly version: string
  readonly files: readonly TreeFile[]
}
