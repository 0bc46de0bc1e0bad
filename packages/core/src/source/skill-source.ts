import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import type { Hasher } from '../host.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceContents } from '../skill/source-contents.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { NotSkillQuery, NotSkills } from './not-skill.ts'
import type { SettlePolicy } from './settle.ts'

/** The values of `SourceReadDepth`, sorted by how much they read. */
export const SOURCE_READ_DEPTHS = ['hinted', 'full', 'rehash'] as const

/**
 * How much of a source one scan reads. `hinted`: only the areas with a hint since the last scan. `full`: all folders,
 * and the files whose size, times or inode changed. `rehash`: all folders and the bytes of all files.
 */
export type SourceReadDepth = (typeof SOURCE_READ_DEPTHS)[number]

export interface SourceReadContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly depth: SourceReadDepth
  /**
   * Whether this scan must be published. `false`: a source that changes during the scan returns `settled: false` and is
   * scanned again. `true`: the deadline is reached, and each folder that is still changing keeps its last state.
   */
  readonly final: boolean
  /**
   * Whether the host waits until writers have finished. False for sources in which every change is complete.
   * @default false
   */
  readonly waitsForWriters?: boolean
  /**
   * Whether an area is still changing. An area has the same name here and in the hints of the source. If possible, the
   * source keeps the published state of a changing area, and publishes all other areas.
   * @default no area
   */
  readonly isHeld?: (area: string) => boolean
  /**
   * Whether a caller asked for a scan of the whole source, for example with `reload()`. Otherwise the scan only looks
   * for changes without events.
   * @default false
   */
  readonly isAsked?: boolean
  /** Whether this process or an earlier process served a skill from a location. @default never */
  readonly wasServed?: (location: string) => boolean
  readonly signal: AbortSignal
}

export interface SourceReading {
  /** The complete contents. If `settled` is false, these are the contents of the previous scan. */
  readonly contents: SourceContents
  /** True if the source did not change during the scan. */
  readonly settled: boolean
  /**
   * The areas that changed during the scan, if all other areas were settled. The host keeps the published state of
   * these areas, and soon reads the areas again.
   * @default none
   */
  readonly unsettled?: readonly string[]
  /**
   * The locations of skills that never came to rest before the deadline. The contents have their last complete state,
   * which may be older than the last write. @default none
   */
  readonly restless?: readonly string[]
  /** Whether the contents are a stored copy, because the origin has not been reached yet. @default false */
  readonly isStored?: boolean
  /** Milliseconds after which the host should scan the source again, even if no hint comes. */
  readonly readAgainMs?: number
}

/** How a source detects changes. `degraded`: the source gets events for some folders, and sweeps the other folders. */
export type SourceWatchMode = 'events' | 'polling' | 'degraded' | 'manual'

export interface SourceState {
  readonly mode: SourceWatchMode
  /** Why the source does not use the mode `events`. */
  readonly reason?: string
  /** Interval of complete sweeps in this mode, in milliseconds; absent if the mode has no sweeps. */
  readonly sweepMs?: number
  /**
   * How many folders have no watch. The source checks these folders on request and every few seconds. Events report
   * changes in all other folders.
   */
  readonly unwatched?: number
  /** True while the folder of the source does not exist. @default false */
  readonly isMissing?: boolean
}

/**
 * Why one folder is read again. `changed`: the folder may have changed. `lost`: the store has lost bytes of the folder,
 * so the source stores all its bytes again.
 */
export type MarkReason = 'changed' | 'lost'

/** A running watch, which reports hints. */
export interface SourceWatch {
  /** Ends the watch, so that no more hints come. */
  stop(): void
  /** Whether a scan with the depth `hinted` is necessary. @default false */
  hasHints?(): boolean
  /** Resolves when the watch has reported every change that was made before the call. @default immediately */
  drain?(): Promise<void>
  /** Whether a known writer, such as a version control operation, is still working. @default false */
  isBusy?(): Promise<boolean>
  /**
   * Whether a change in an area can affect the skill at a location. Implement this method only if the source reads
   * areas separately and respects `isHeld`.
   * @default a change can affect every location, so every scan waits for all areas
   */
  concerns?(area: string, location: string): boolean
}

/** The versions of a source. */
export interface SourceVersions {
  /**
   * Returns the version that the last scan read, which is a commit or a digest. Returns `undefined` before the first
   * scan.
   */
  current(): string | undefined
  /** Whether the current version is newer than the given version. True if the versions of the source have no order. */
  follows(earlier: string): Promise<boolean>
  /**
   * Returns the last change of a folder, with its author. Returns `undefined` if the source does not know the change.
   */
  describeChange(location: string): Promise<SourceChange | undefined>
}

/** A change that is recorded in the history of the source, for example a commit. */
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
  /** Size limits. A skill that exceeds a limit is broken. @default DEFAULT_LIMITS */
  readonly limits?: SkillLimits
  /** Whether the source skips a folder of this name when it searches for skills. @default false */
  isSkipped?(name: string): boolean
}

/**
 * A source of skills. A source always returns its complete contents, and never single edits. A hint only tells the host
 * when to scan again, so a lost hint delays a change but does not lose the change.
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
   * Short name that the host chooses. The label is part of the generation's digest, so the label must be the same on
   * every machine.
   */
  readonly label: string
  /**
   * An absolute path or a URL that identifies the source on this machine. The origin is the key of persistent state.
   */
  readonly origin: string
  readonly trust: SourceTrust
  /** How tolerant the parser is. After a restart, the parser reads the last served revision with the same tolerance. */
  readonly reading?: Partial<ReadingPolicy>
  /** The folder where skills may be written; absent for a read-only source. */
  readonly writable?: WritableFolder
  /**
   * Whether a scan needs another machine. A remote source is scanned only at its own intervals and on `reload`. Loading
   * a skill or continuing a conversation never waits for a remote source.
   * @default false
   */
  readonly isRemote?: boolean
  /** Rules for the end of a burst of changes. @default the policy of the runtime */
  readonly settle?: Partial<SettlePolicy>
  /** Present if the source has versions, such as commits or releases. */
  readonly versions?: SourceVersions
  /**
   * Reads the contents, and stores all bytes before it returns the contents. Calls never overlap. Throws if the whole
   * source is unreadable. The contents of the last successful scan then stay visible.
   */
  read(context: SourceReadContext): Promise<SourceReading>
  /** Returns how the source detects changes now. */
  state(): SourceState
  /**
   * Starts to report hints. Called before the first scan. A hint says that something in an area may have changed. An area
   * is usually the folder of a skill.
   */
  watch?(onHint: (area: string) => void): SourceWatch
  /**
   * Marks one folder, so that the next `hinted` scan reads it. If a source has no `mark()`, the host runs a full scan
   * instead.
   */
  mark?(location: string, why: MarkReason): void
  /** Finds files and folders of the source that are not skills. This search never runs during a scan. */
  findNotSkills?(query?: NotSkillQuery): Promise<NotSkills>
  /**
   * Finds files in the folder of a skill that are not part of the skill, for example files that `.skillignore` names.
   * Returns paths within the folder, sorted. The path of a folder ends with a slash and stands for all its files.
   */
  findLeftOut?(skill: Skill): Promise<readonly string[]>
  /**
   * Stops the timers, watches and fetches of the source. Called after the last scan. The host may call `read()` again
   * on a closed source.
   */
  close?(): Promise<void>
}
