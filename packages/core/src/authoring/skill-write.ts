import type { Clock, Hasher } from '../host.ts'
import { checkOptions, type KnownOptions, oneOf } from '../options.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { checkConversationIdentity } from '../registry/conversation-identity.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { Digest } from '../skill/digest.ts'
import type { SourceReaders } from '../sync/source-readers.ts'
import { WRITABLE_NAMES, type WritableNames } from './skill-name-rule.ts'
import type { WriteLock } from './write-lock.ts'

/** The functions that make writes visible. */
export interface SkillReloading {
  /** Reads every source again. */
  reload(): Promise<{ readonly generation: Generation; readonly errors: ReloadedSkills['errors'] }>
  /** Reads again every folder that may contain the skill. */
  reloadSkill(name: string): Promise<{ readonly errors: ReloadedSkills['errors'] }>
}

/** The parts of the runtime that a writer uses. */
export interface SkillWriterParts {
  readonly registry: SkillRegistry
  readonly reader: SkillReader
  readonly sources: SourceReaders
  readonly reloads: SkillReloading
  readonly agentWrites: AgentWriteNotes
  /** Prevents concurrent writes. */
  readonly writeLock: WriteLock
  readonly clock: Clock
  readonly hasher: Hasher
}

/** The notes about texts that agents wrote. */
export interface AgentWriteNotes {
  /** Records a write of an agent before the file is written, so that the write waits for approval. */
  record(write: NotedWrite): Promise<void>
  /**
   * Returns the unapproved files that agents wrote to a folder of the writable source. No file is unapproved if writes of
   * agents go live immediately.
   */
  pathsAt(location: string): ReadonlySet<string>
}

export interface NotedWrite {
  /** Path of the skill folder within the writable source. */
  readonly location: string
  /** Absolute path of the skill folder, with links resolved. */
  readonly folder: string
  readonly path: string
  readonly digest: Digest
  readonly author: AgentAuthor
}

/** The agent that writes. */
export interface AgentAuthor {
  /** Name of the agent, shown in the history of the skill. @default 'an agent' */
  readonly name?: string
  /**
   * The conversation in which the agent writes: `conversation` of its session. The agent's writes are live in that
   * conversation immediately.
   */
  readonly conversation?: string
}

/** The result of a reload of all sources. */
export interface ReloadedSkills {
  /** The served skills. */
  readonly names: readonly string[]
  /** The errors that prevent skills from going live. `skill` is absent if a whole source could not be read. */
  readonly errors: readonly { readonly skill?: string; readonly message: string }[]
}

const AFTER_WRITE = ['reload', 'none'] as const

export interface SkillWriterOptions {
  /** @default 'strict' */
  readonly names?: WritableNames
  /**
   * Reserved words. A name that contains one of these words, alone or between hyphens, is refused. @default RESERVED_WORDS
   */
  readonly reservedNames?: readonly string[]
  /** Whether the writer reads a skill again after each write, or leaves that to a later reload. @default 'reload' */
  readonly afterWrite?: (typeof AFTER_WRITE)[number]
}

export const WRITER_OPTIONS: KnownOptions<SkillWriterOptions> = {
  names: oneOf(WRITABLE_NAMES, value => value instanceof RegExp),
  reservedNames: true,
  afterWrite: oneOf(AFTER_WRITE),
}

export interface SkillWriteRequest {
  readonly skill: string
  /** Relative to the skill's folder, `/`-separated. */
  readonly path: string
  readonly content: string | Uint8Array
  /**
   * The digest that the file must have now: all digits, or at least the first eight. `none` means that the file must
   * not exist. If `baseDigest` is absent, the file is always replaced.
   */
  readonly baseDigest?: string
  /** @default unchanged; false for a new file */
  readonly isExecutable?: boolean
  /**
   * The agent that wrote the content. In other conversations, the write waits for approval.
   * @default none: the user of this program wrote the content
   */
  readonly agent?: AgentAuthor
  /**
   * Returns true if the caller may change a skill. The writer also asks about each skill whose folder contains the
   * folder of the written skill. @default every skill
   */
  readonly isInScope?: (name: string) => boolean
  /**
   * After an abort, the call no longer waits for the disk or for other writers. A write that has started is still
   * completed.
   */
  readonly signal?: AbortSignal | undefined
}

const AUTHOR: KnownOptions<AgentAuthor> = { name: true, conversation: true }

export const WRITE_REQUEST: KnownOptions<SkillWriteRequest> = {
  skill: true,
  path: true,
  content: true,
  baseDigest: true,
  isExecutable: true,
  agent: AUTHOR,
  isInScope: true,
  signal: true,
}

/** @throws {SkillError} INVALID_OPTION */
export function checkAuthor(owner: string, author: AgentAuthor | undefined, path: string): void {
  checkOptions(owner, author, AUTHOR, { path })
  checkConversationIdentity(`${path}.conversation`, author?.conversation)
}

export interface SkillWriteResult {
  /** Absolute path of the file. */
  readonly path: string
  readonly digest: Digest
  readonly isNew: boolean
  /** True if the skill existed only in a read-only source, so the writer first copied the other files of the skill. */
  readonly isCopiedUp: boolean
  /** Reasons why the skill cannot be served as written. Empty if the skill can be served or was not read again. */
  readonly errors: readonly string[]
  /** True if the write waits for approval. In the conversation that made the write, the write is already live. */
  readonly isHeld: boolean
  /** Advice for the author. */
  readonly advice: readonly string[]
}
