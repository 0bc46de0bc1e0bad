import type { FileKind } from '../fs/file-system.ts'
import type { Hasher } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { SourceChange, SourceState } from './skill-source.ts'

/** One entry of a tree. */
export interface TreeFile {
  /** Relative path with `/` as separator. The path is neither checked nor normalised. */
  readonly path: string
  readonly kind: Exclude<FileKind, 'directory'>
  /** Size in bytes; 0 for entries that are not files. */
  readonly size: number
  readonly isExecutable: boolean
  /** Digest of the content. Files with equal digests must have equal bytes. */
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

export interface FetchContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly signal: AbortSignal
  /** The newest tree of the source, with the files of listed skills that were retrieved since the fetch. */
  readonly known: FileTree | undefined
  /**
   * Whether only news of the origin caused the fetch. Otherwise the fetch must find everything that the origin had when
   * it began. @default false
   */
  readonly isNews?: boolean
}

export interface FetchResult {
  /** The newest tree. Absent if the newest tree equals the known tree, or if the newest tree must not be accepted. */
  readonly tree?: FileTree
  /** Findings about the state of the remote source, for example that its history was rewritten. */
  readonly notices?: readonly Diagnostic[]
}

/** Fetches the files of a remote source to this machine. */
export interface TreeFetcher {
  /**
   * Whether the origin is on this machine. A local origin is read first. The stored copy is used only if the origin
   * cannot be read.
   */
  readonly isLocal?: boolean
  /**
   * How long the first scan waits for a fetch although this machine has a stored copy, in milliseconds. The stored copy may
   * be outdated if the last process was killed. @default 0
   */
  readonly storedWaitMs?: number
  /** Returns the tree of the last fetch, without network access. Returns `undefined` if nothing was fetched yet. */
  restore(context: FetchContext): Promise<FileTree | undefined>
  /**
   * Fetches the tree from the origin. Rejects soon after an abort. Calls do not overlap. Throws if the origin is
   * unreachable or sends invalid data.
   */
  fetch(context: FetchContext): Promise<FetchResult>
  /**
   * Retrieves the files of a skill that a tree lists, and stores them with `storeRetrieved()`. Returns the skill with its
   * files. Throws if a file does not match its listed digest. Required if trees list skills.
   */
  retrieve?(skill: ListedSkill, context: Omit<FetchContext, 'known'>): Promise<ListedSkill>
  /**
   * Starts to report news of the origin. Each call of `onNews` requests a fetch. Returns a function that ends the
   * reports. Fetchers without this method are asked at intervals only.
   */
  watch?(onNews: () => void): () => void
  /** Returns how the fetcher learns of changes now. @default polling at the interval of the source */
  state?(): SourceState
  /** Returns the last change of a folder in a tree, with its author. */
  describeChange?(tree: FileTree, location: string): Promise<SourceChange | undefined>
  /** Whether a tree is newer than the given version. Only origins with a history have this method. */
  follows?(tree: FileTree, earlier: string): Promise<boolean>
  close?(): Promise<void>
}
