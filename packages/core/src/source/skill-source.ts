import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import type { Hasher } from '../host.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceContents } from '../skill/source-contents.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { NotSkillQuery, NotSkills } from './not-skill.ts'
import type { SettlePolicy } from './settle.ts'

/** The values of `SourceReadDepth`, sorted by how much they read. */
export const SOURCE_READ_DEPTHS = ['hinted', 'full', 'rehash'] as const

/**
 * How much of a source is read. `hinted`: only the areas with a hint since the last scan. `full`: all folders, and
 * the files whose size, times or inode changed. `rehash`: all folders and all bytes.
 */
export type SourceReadDepth = (typeof SOURCE_READ_DEPTHS)[number]

export interface SourceReadContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly depth: SourceReadDepth
  /**
   * `false`: a source that changed during the scan returns `settled: false` and is read again. `true`: the deadline
   * is reached, and folders that are still changing keep their last state.
   */
  readonly final: boolean
  /** Whether the host waits for writers. False for sources in which every change is complete. @default false */
  readonly waitsForWriters?: boolean
  /**
   * Whether an area is still changing; hints use the same names of areas. If possible, the source keeps the published
   * state of a changing area, and publishes all other areas.
   * @default no area
   */
  readonly isHeld?: (area: string) => boolean
  /** Whether a skill was served from a location, in this process or an earlier one. @default never */
  readonly wasServed?: (location: string) => boolean
  readonly signal: AbortSignal
}

export interface SourceReading {
  /** The complete contents, or the contents of the previous scan if `settled` is false. */
  readonly contents: SourceContents
  /** True if the source did not change during the scan. */
  readonly settled: boolean
  /**
   * Areas that changed during an otherwise settled scan. These areas keep their published state, and the host soon
   * reads them again.
   * @default none
   */
  readonly unsettled?: readonly string[]
  /** Whether the contents are a stored copy, because the origin has not been reached yet. @default false */
  readonly isStored?: boolean
  /** When the host should read the source again without a hint, in milliseconds from now. */
  readonly readAgainMs?: number
}

/** How a source detects changes. `degraded`: the source gets events for some folders, and sweeps the other folders. */
export type SourceWatchMode = 'events' | 'polling' | 'degraded' | 'manual'

export interface SourceState {
  readonly mode: SourceWatchMode
  /** Why the mode is not `events`. */
  readonly reason?: string
  /** Interval of complete sweeps in this mode, in milliseconds; absent if the mode has no sweeps. */
  readonly sweepMs?: number
  /**
   * How many folders have no watch. These folders are checked on request and every few seconds. Events report changes
   * in all other folders.
   */
  readonly unwatched?: number
}

/** A hint that something in an area may have changed. An area is usually the folder of a skill. */
export interface SourceHint {
  readonly area: string
}

/**
 * Why one folder is read again. `changed`: the folder may have changed. `lost`: the store has lost some bytes of the
 * folder, so all bytes are stored again.
 */
export type MarkReason = 'changed' | 'lost'

/** A running watch. */
export interface SourceWatch {
  /** Stops the hints. */
  stop(): void
  /** Whether a hinted scan would have anything to read. @default false */
  hasHints?(): boolean
  /** Resolves when every change made before the call has been reported. @default immediately */
  drain?(): Promise<void>
  /** Whether a known writer, such as a version control operation, is still working. @default false */
  isBusy?(): Promise<boolean>
  /**
   * Whether a change in an area can affect a location. Implement this method only if the source reads areas separately
   * and respects `isHeld`.
   * @default every change can, and every scan waits for all areas
   */
  concerns?(area: string, location: string): boolean
}

/** The versions of a source. */
export interface SourceVersions {
  /** Returns the version that was read last: a commit or a digest. `undefined` before the first scan. */
  current(): string | undefined
  /**
   * Whether the current version is newer than an earlier version. True if the versions of the source have no order.
   */
  follows(earlier: string): Promise<boolean>
  /** Returns the last change of a folder and its author; `undefined` if the source does not know them. */
  describeChange(location: string): Promise<SourceChange | undefined>
}

/** A change that the source itself records, for example a commit. */
export interface SourceChange {
  readonly author: { readonly kind: 'commit'; readonly name: string }
  readonly cause: 'fetch'
  readonly note?: string
}

/** A folder of a source that may be written to. */
export interface WritableFolder {
  readonly fileSystem: WritableFileSystem
  /** Absolute path without a trailing slash. */
  readonly root: string
  /** File names that make a folder a skill, best name first. */
  readonly fileNames: readonly string[]
  /** Size limits; a skill beyond them is broken. @default DEFAULT_LIMITS */
  readonly limits?: SkillLimits
  /** Whether the source skips a folder of this name when it searches for skills. @default false */
  isSkipped?(name: string): boolean
}

/**
 * A source of skills. A source always returns its complete contents, and never single edits. Hints only say when to
 * read again, so a lost hint delays a change but never loses it.
 *
 * A simple source has only `label`, `origin`, `trust`, `read` and `state`. A simple source is read at the start, on
 * `reload`, when a skill is loaded, and at the interval that `state` returns.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { captureSkill, type SkillSource } from '@skillstoke/core/source'
 *
 * const files = { 'SKILL.md': '---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n' }
 * const place = { label: 'rows', origin: 'rows:main', trust: 'auto' } as const
 * const source: SkillSource = {
 *   ...place,
 *   state: () => ({ mode: 'polling', sweepMs: 60_000 }),
 *   async read(context) {
 *     const entry = captureSkill({ source: 'rows', location: 'greet', files }, context)
 *     return { contents: { entries: [entry], diagnostics: [] }, settled: true }
 *   },
 * }
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'greet' ]
 * ```
 */
export interface SkillSource {
  /**
   * Short name given by the host. The label is part of the generation's digest, so it must not be a path of one
   * machine.
   */
  readonly label: string
  /**
   * An absolute path or a URL that identifies the source on this machine. The origin is the key of persistent state.
   */
  readonly origin: string
  readonly trust: SourceTrust
  /** How tolerant the parser is. After a restart, the last served revision is parsed with the same tolerance. */
  readonly reading?: Partial<ReadingPolicy>
  /** The folder where skills may be written; absent for a read-only source. */
  readonly writable?: WritableFolder
  /**
   * Whether a scan needs another machine. A remote source is read at its own intervals and on `reload`. Loading a
   * skill or continuing a conversation never reads a remote source.
   * @default false
   */
  readonly isRemote?: boolean
  /** Rules for the end of a burst of changes. @default the policy of the runtime */
  readonly settle?: Partial<SettlePolicy>
  /** Present if the source has versions, such as commits or releases. */
  readonly versions?: SourceVersions
  /**
   * Reads the contents and stores all bytes before it returns them. Calls never overlap. Throws if the source as a
   * whole fails. The last contents then stay visible.
   */
  read(context: SourceReadContext): Promise<SourceReading>
  /** Returns how the source detects changes now. */
  state(): SourceState
  /** Starts reporting hints; called before the first scan. */
  watch?(onHint: (hint: SourceHint) => void): SourceWatch
  /**
   * Marks one folder for the next hinted scan. If a source has no such method, the host makes a full scan
   * instead.
   */
  mark?(location: string, why: MarkReason): void
  /** Finds files and folders that are not skills. The search runs only when this method is called. */
  findNotSkills?(query?: NotSkillQuery): Promise<NotSkills>
  /**
   * Stops everything that the source has started. Called after the last scan. A closed source may be read again
   * later.
   */
  close?(): Promise<void>
}
