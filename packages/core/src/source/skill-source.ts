import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import type { Hasher } from '../host.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceContents } from '../skill/source-contents.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { NotSkillQuery, NotSkills } from './not-skill.ts'
import type { SettlePolicy } from './settle.ts'

/** The values of `SourceReadDepth`; each looks at more than the one before. */
export const SOURCE_READ_DEPTHS = ['hinted', 'full', 'rehash'] as const

/**
 * How much of a source is looked at: only what was hinted since the last reading, everything (trusting unchanged file
 * facts), or everything with all bytes hashed again.
 */
export type SourceReadDepth = (typeof SOURCE_READ_DEPTHS)[number]

export interface SourceReadContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly depth: SourceReadDepth
  /**
   * When false, a source that changed while it was read answers `settled: false` and is asked again.
   * When true, time is up: folders that will not hold still keep their last state.
   */
  readonly final: boolean
  /** Whether the host waits for writers at all; not where every change is whole. @default false */
  readonly waitsForWriters?: boolean
  /**
   * Whether changes go on in an area, as hints name areas. A source that can leaves such an area as it was shown last, and shows
   * the others. @default no area
   */
  readonly isHeld?: (area: string) => boolean
  /** Whether a skill was served from a location, in this process or before. @default never */
  readonly wasServed?: (location: string) => boolean
  readonly signal: AbortSignal
}

export interface SourceReading {
  /** Complete contents; those of the last reading when `settled` is false. */
  readonly contents: SourceContents
  /** Whether nothing changed while it was read. */
  readonly settled: boolean
  /**
   * The areas that changed while they were read, of a reading that is settled otherwise. They stay as they were shown last, and
   * the host soon reads them again. @default none
   */
  readonly unsettled?: readonly string[]
  /** Whether these are contents of an earlier time, because the place itself was not reached yet. @default false */
  readonly isStored?: boolean
  /** When the source wants to be read again without a hint, in milliseconds from now. */
  readonly readAgainMs?: number
}

/** How a source learns of changes. `degraded`: events for a part, sweeps for the rest. */
export type SourceWatchMode = 'events' | 'polling' | 'degraded' | 'manual'

export interface SourceState {
  readonly mode: SourceWatchMode
  /** Why the mode is not `events`. */
  readonly reason?: string
  /** How often everything is swept in this mode, in milliseconds; absent when it is not. */
  readonly sweepMs?: number
  /** How many folders are looked at on request and every few seconds instead, while events tell of all others. */
  readonly unwatched?: number
}

/** One hint: something in this area (a skill's folder, mostly) may have changed. */
export interface SourceHint {
  readonly area: string
}

/** Why one folder is read: it may have `changed`, or the store has `lost` bytes of it, and all of it is stored again. */
export type MarkReason = 'changed' | 'lost'

/** A watch that is running. */
export interface SourceWatch {
  /** Ends the reports. */
  stop(): void
  /** Whether a hinted reading has something to look at. @default false */
  hasHints?(): boolean
  /** Resolves when every change made before the call has been reported. @default at once */
  drain?(): Promise<void>
  /** Whether a known writer, such as a version control operation, is in the middle of its work. @default false */
  isBusy?(): Promise<boolean>
  /**
   * Whether a change in an area can be a change of what is at a location. Present if the source reads areas one by one: it then
   * respects `isHeld`. @default every change can, and every reading waits for all areas
   */
  concerns?(area: string, location: string): boolean
}

/** What a source knows of its own versions. */
export interface SourceVersions {
  /** The name of the state that was read last: a commit, a digest. `undefined` before the first one. */
  current(): string | undefined
  /** Whether that state comes after an earlier one; true for a source without an order. */
  follows(earlier: string): Promise<boolean>
  /** Who changed a folder last; `undefined` if the source does not know. */
  describeChange(location: string): Promise<SourceChange | undefined>
}

/** A change as the source itself knows it, a commit for example. */
export interface SourceChange {
  readonly author: { readonly kind: 'commit'; readonly name: string }
  readonly cause: 'fetch'
  readonly note?: string
}

/** The folder of a source that may be written to. */
export interface WritableFolder {
  readonly fileSystem: WritableFileSystem
  /** Absolute, without a slash at its end. */
  readonly root: string
  /** What the text of a skill may be called there, best name first. */
  readonly fileNames: readonly string[]
  /** Sizes beyond which its skills are broken. @default DEFAULT_LIMITS */
  readonly limits?: SkillLimits
  /** Whether the source looks for no skill in a folder of this name. @default in none */
  isSkipped?(name: string): boolean
}

/**
 * Where skills come from. A source answers with its complete contents and never reports edits. Hints only say when to
 * read again, so a lost hint costs time and never correctness.
 *
 * A simple source has `label`, `origin`, `trust`, `read` and `state`, and nothing else. It is read at the start, on `reload`,
 * when a skill is loaded, and as often as `state` says.
 */
export interface SkillSource {
  /** Short name given by the host; part of the generation's digest, so never a path of one machine. */
  readonly label: string
  /** What it is on this machine (an absolute path, a URL): the key of lasting state. */
  readonly origin: string
  readonly trust: SourceTrust
  /** How forgiving its texts are read; the revision served last is read in the same way after a restart. */
  readonly reading?: Partial<ReadingPolicy>
  /** Where its skills may be written to; absent when they may not. */
  readonly writable?: WritableFolder
  /**
   * Whether reading it means asking another machine. Such a source is read at its own pace and on `reload`, never because a
   * skill is loaded or a conversation takes its next step. @default false
   */
  readonly isRemote?: boolean
  /** When a burst of changes here counts as finished. @default the policy of the runtime */
  readonly settle?: Partial<SettlePolicy>
  /** Present if the source has versions: commits, releases. */
  readonly versions?: SourceVersions
  /**
   * Reads the contents, capturing all bytes in the store before they are returned. Calls never overlap.
   * Throws when the source as a whole fails; the last contents then stay.
   */
  read(context: SourceReadContext): Promise<SourceReading>
  /** Returns how the source learns of changes now. */
  state(): SourceState
  /** Starts reporting hints; called before the first reading. */
  watch?(onHint: (hint: SourceHint) => void): SourceWatch
  /** Marks one folder for the next hinted reading. Without it, that reading is a full one. */
  mark?(location: string, why: MarkReason): void
  /** Finds what lies here and is not a skill, by looking at it now. Nothing is collected before. */
  findNotSkills?(query?: NotSkillQuery): Promise<NotSkills>
  /** Ends what the source has started, after the last reading. It may be read again later. */
  close?(): Promise<void>
}
