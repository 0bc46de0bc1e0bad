import type { SkillFile } from '../skill/manifest.ts'
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
  /** Returns the bytes. Called for files only. */
  read(signal: AbortSignal | undefined): Promise<Uint8Array>
}

/**
 * A skill as its origin lists it, with the frontmatter and the digest of each file. The source retrieves the files when
 * they are first needed, for example when the skill is loaded.
 */
export interface ListedSkill {
  /** The folder of the skill within the source, `/`-separated; unique in the tree. */
  readonly location: string
  /** `SKILL.md` or `skill.md`. */
  readonly skillFile: string
  /** The fields of the frontmatter in `skillFile`, as JSON values. */
  readonly frontmatter: Readonly<Record<string, unknown>>
  /**
   * All files of the skill in any order, with paths relative to the folder. Empty if the origin does not list the files.
   * In this case, the revision of the skill is unknown until the files are retrieved.
   */
  readonly files: readonly SkillFile[]
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
