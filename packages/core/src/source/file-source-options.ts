import { defined } from '../defined.ts'
import type { FileSystem } from '../fs/file-system.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { type Clock, systemClock } from '../host.ts'
import { limitsOf, type SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceTrust } from '../skill/trust.ts'
import { checkFileSourceOptions, type MissingRootPolicy } from './check-file-source-options.ts'
import type { SymlinkPolicy } from './entry-classifier.ts'
import type { WatchingMode } from './event-trust.ts'
import { type FileLayout, LayoutRules } from './file-layout.ts'
import type { SettlePolicy } from './settle.ts'
import type { WritableFolder } from './skill-source.ts'

/** Options of a file source. */
export interface FileSourceOptions {
  readonly fileSystem: FileSystem
  /** Absolute path of the folder that contains the skills, without a trailing slash. */
  readonly root: string
  /** Name of the source in digests and messages: short, and the same on every machine. */
  readonly label: string
  /** How the root is shown to people. @default `root` */
  readonly displayRoot?: string
  /** @default 'auto' */
  readonly trust?: SourceTrust
  /** Whether commands on this machine can use the paths of the folders. @default false */
  readonly hasDirectories?: boolean
  /** @default 'within-root', and 'deny' when `trust` is `review` */
  readonly symlinks?: SymlinkPolicy
  /** Absolute paths of the folders outside the root to which links may point. @default [] */
  readonly linkRoots?: readonly string[]
  /** Whether a SKILL.md inside another skill's folder is a separate skill. @default true unless `trust` is `review` */
  readonly nestedSkills?: boolean
  /** The same file system with write access. Absent if the source is read-only. @default none: read-only */
  readonly writable?: WritableFileSystem
  /** Which files and folders are skills. @default DEFAULT_LAYOUT */
  readonly layout?: Partial<FileLayout>
  /** How tolerant the parser is. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
  /**
   * How the source treats a missing root. `wait`: the source is empty until the root appears; if the root vanishes
   * later, its skills stay for five seconds. `empty`: the source becomes empty immediately. `throw`: the scan
   * fails.
   * @default 'wait'
   */
  readonly onMissing?: MissingRootPolicy
  /**
   * `auto`: the source uses events where possible, and sweeps elsewhere. `off`: the source is read only on request.
   * @default 'auto'
   */
  readonly watching?: WatchingMode
  /**
   * Interval of complete sweeps while events work, in milliseconds. While sweeps find only changes that events
   * announced, the interval grows to up to four times this value.
   * @default 30,000
   */
  readonly reconcileMs?: number
  /**
   * Interval of complete sweeps without events, in milliseconds.
   * @default 2,000; 300,000 for file systems without events
   */
  readonly pollMs?: number
  /** Rules for the end of a burst of changes. @default the policy of the runtime */
  readonly settle?: Partial<SettlePolicy>
  readonly limits?: Partial<SkillLimits>
  /** Returns whether a known writer, such as git, is working in one of these folders. The paths are absolute. */
  readonly isBusy?: (directories: readonly string[]) => Promise<boolean>
  /**
   * Called once with a message for people if the root is missing at the first scan and `onMissing` is `wait`, because
   * its path may be mistyped.
   */
  readonly onMissingRoot?: (message: string) => void
  readonly clock?: Clock
}

/** The options of a source that do not depend on where its folder is. */
export type FolderOptions = Omit<
  FileSourceOptions,
  'fileSystem' | 'root' | 'label' | 'displayRoot' | 'writable' | 'isBusy'
>

export const DEFAULT_RECONCILE_MS = 30_000
export const DEFAULT_POLL_MS = 2_000
/**
 * Sweep interval for a file system without events, in milliseconds. The interval is long because such a file system is
 * usually remote, and because every request scans the source anyway.
 */
export const DEFAULT_REMOTE_POLL_MS = 300_000

/** The options of a file source with their defaults. */
export interface ResolvedFileSourceOptions
  extends Required<
    Omit<FileSourceOptions, 'isBusy' | 'layout' | 'limits' | 'onMissingRoot' | 'settle' | 'writable'>
  > {
  readonly isBusy: FileSourceOptions['isBusy'] | undefined
  readonly onMissingRoot: FileSourceOptions['onMissingRoot'] | undefined
  readonly settle: Partial<SettlePolicy> | undefined
  readonly writable: WritableFolder | undefined
  readonly layout: LayoutRules
  readonly limits: SkillLimits
  /** Returns how a path within the source is shown to people. */
  readonly displayPath: (path: string) => string
}

/**
 * Checks the options and fills in defaults.
 * @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right
 */
export function resolveFileSourceOptions(options: FileSourceOptions): ResolvedFileSourceOptions {
  checkFileSourceOptions(options)
  const { fileSystem, root, label, trust = 'auto', displayRoot = root } = options
  const layout = new LayoutRules(options.layout)
  const isReviewed = trust === 'review'
  const limits = limitsOf(trust, options.limits)
  const writable =
    options.writable === undefined
      ? undefined
      : Object.freeze({
          fileSystem: options.writable,
          root,
          fileNames: layout.fileNames,
          limits,
          isSkipped: (name: string) => layout.isSkipped(name, 1),
        })
  return Object.freeze({
    hasDirectories: false,
    symlinks: isReviewed ? 'deny' : 'within-root',
    linkRoots: [],
    nestedSkills: !isReviewed,
    reading: {},
    onMissing: 'wait',
    watching: 'auto',
    reconcileMs: DEFAULT_RECONCILE_MS,
    pollMs: fileSystem.watch === undefined ? DEFAULT_REMOTE_POLL_MS : DEFAULT_POLL_MS,
    isBusy: undefined,
    onMissingRoot: undefined,
    settle: undefined,
    clock: systemClock,
    ...defined(options),
    ...{ fileSystem, root, label, displayRoot, trust, layout, limits, writable },
    displayPath: (path: string) => (path === '' ? displayRoot : `${displayRoot}/${path}`),
  })
}
