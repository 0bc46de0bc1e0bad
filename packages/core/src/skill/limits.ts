import { type KnownOptions, number } from '../options.ts'
import type { SourceTrust } from './trust.ts'

/** Limits on size. A skill that exceeds a limit is broken. A source that exceeds a limit is read only in part. */
export interface SkillLimits {
  /** Size of the text between the frontmatter delimiters, in bytes. @default 16,384 */
  readonly maxFrontmatterBytes: number
  /** Size of SKILL.md, in bytes. @default 262,144 */
  readonly maxSkillFileBytes: number
  /** Number of files in one skill. @default 512 */
  readonly maxFiles: number
  /** Total size of all files of one skill, in bytes. @default 16 MiB */
  readonly maxFolderBytes: number
  /** Number of levels in the path of a file inside one skill. The file itself counts as a level. @default 8 */
  readonly maxFolderDepth: number
  /** Number of directory levels that a source searches for skills below its root. @default 6 */
  readonly maxDiscoveryDepth: number
  /** Number of directories that a source visits below one root. @default 250,000; 20,000 for a reviewed source */
  readonly maxDirectories: number
}

export const LIMIT_OPTIONS: KnownOptions<SkillLimits> = {
  maxFrontmatterBytes: number(0),
  maxSkillFileBytes: number(0),
  maxFiles: number(0),
  maxFolderBytes: number(0),
  maxFolderDepth: number(0),
  maxDiscoveryDepth: number(0),
  maxDirectories: number(0),
}

export const DEFAULT_LIMITS: SkillLimits = Object.freeze({
  maxFrontmatterBytes: 16 * 1024,
  maxSkillFileBytes: 256 * 1024,
  maxFiles: 512,
  maxFolderBytes: 16 * 1024 * 1024,
  maxFolderDepth: 8,
  maxDiscoveryDepth: 6,
  maxDirectories: 250_000,
})

/** Number of directories that a reviewed source visits below one root, by default. */
const REVIEWED_MAX_DIRECTORIES = 20_000

/** Returns the limits of a source: the given ones, and defaults that depend on the trust in the source. */
export function limitsOf(trust: SourceTrust, given: Partial<SkillLimits> | undefined): SkillLimits {
  const own = trust === 'review' ? { maxDirectories: REVIEWED_MAX_DIRECTORIES } : {}
  return { ...DEFAULT_LIMITS, ...own, ...given }
}
