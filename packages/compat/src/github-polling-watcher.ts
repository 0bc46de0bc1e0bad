import { type Logger, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  type KnownOptions,
  LONGEST_TIMER_MS,
  number,
  toMessage,
} from '@skillstoke/core/internal'
import type { SkillSource } from '@skillstoke/core/source'
import { type GitOptions, git } from '@skillstoke/sources'
import { EXO_READING } from './exo-skill.ts'
import { SourceWatcher } from './to-watcher.ts'

export interface GitHubSourceOptions
  extends Pick<GitOptions, 'token' | 'baseUrl' | 'privateHosts' | 'timeoutMs' | 'update'> {
  /** Interval between polls of the repository, in milliseconds. @default 300,000 */
  readonly pollIntervalMs?: number
  /** Folder for the bare copy of the repository. @default the state directory of this user */
  readonly cacheDirectory?: string
}

const KNOWN: KnownOptions<GitHubSourceOptions> = {
  pollIntervalMs: number(1, LONGEST_TIMER_MS),
  cacheDirectory: true,
  token: true,
  baseUrl: true,
  privateHosts: true,
  timeoutMs: number(1, LONGEST_TIMER_MS),
  update: true,
}

export interface GitHubPollingWatcherOptions extends GitHubSourceOptions {
  /** Receives messages about failed polls, rewritten histories and broken skills. None of these problems ends polling. */
  readonly logger?: Logger
}

const KNOWN_WATCHER: KnownOptions<GitHubPollingWatcherOptions> = { ...KNOWN, logger: true }

export const DEFAULT_POLL_INTERVAL_MS = 300_000

/**
 * Polls a repository on GitHub or another server, and reports changes of its skills.
 *
 * @example
 * ```ts no-run
 * import { GitHubPollingWatcher, SkillRegistry, SkillSyncManager } from '@skillstoke/compat'
 *
 * const url = 'https://github.com/acme/skills/tree/main/team'
 * await using registry = new SkillRegistry().registerSource(url)
 * await registry.loadAll()
 * await using manager = new SkillSyncManager(registry, {})
 * manager.addWatcher(new GitHubPollingWatcher(url, { pollIntervalMs: 60_000 }))
 * await manager.start()
 * ```
 */
export class GitHubPollingWatcher extends SourceWatcher {
  /**
   * @param sourceUrl URL of a repository, or of the page of a folder in a repository, for example
   * `https://github.com/org/skills/tree/main/skills`
   * @throws {SkillError} INVALID_OPTION with `Invalid GitHub URL: ...` for any other value
   */
  constructor(sourceUrl: string, options: GitHubPollingWatcherOptions = {}) {
    checkOptions('GitHubPollingWatcher', options, KNOWN_WATCHER)
    const { logger, ...rest } = options
    super(gitHubSource(sourceUrl, rest), {
      settle: { settleMs: 0, burstMs: 0 },
      ...(logger === undefined ? {} : { logger }),
    })
  }
}

/** @throws {SkillError} INVALID_OPTION with `Invalid GitHub URL: ...` */
export function gitHubSource(sourceUrl: string, options: GitHubSourceOptions = {}): SkillSource {
  checkOptions('registerSource()', options, KNOWN)
  const { pollIntervalMs = DEFAULT_POLL_INTERVAL_MS, cacheDirectory, ...rest } = options
  try {
    return git(sourceUrl, {
      ...rest,
      // Changes need no approval, because the program itself chose the repository.
      trust: 'auto',
      reading: EXO_READING,
      pollMs: pollIntervalMs,
      ...(cacheDirectory === undefined ? {} : { stateDirectory: cacheDirectory }),
    })
  } catch (thrown) {
    const isPrefixed = toMessage(thrown).startsWith('Invalid GitHub URL')
    if (!SkillError.isInstance(thrown, 'INVALID_OPTION') || isPrefixed) throw thrown
    throw new SkillError('INVALID_OPTION', `Invalid GitHub URL: ${thrown.message}`, { cause: thrown })
  }
}
