import type { Logger } from '@skillstoke/core'
import { checkOptions, type KnownOptions, LONGEST_TIMER_MS, number } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'
import { EXO_READING } from './exo-skill.ts'
import { SourceWatcher } from './to-watcher.ts'

export interface LocalFileWatcherOptions {
  /** A folder is read when no file in it has changed for this time, in milliseconds. @default 500 */
  readonly debounceMs?: number
  /** Folders outside the watched folder that links may point to. @default [] */
  readonly linkRoots?: readonly string[]
  /** Receives messages about broken skills and unreadable folders. None of these problems ends the watcher. */
  readonly logger?: Logger
}

const KNOWN: KnownOptions<LocalFileWatcherOptions> = {
  debounceMs: number(0, LONGEST_TIMER_MS),
  linkRoots: true,
  logger: true,
}

export const DEFAULT_DEBOUNCE_MS = 500

/**
 * Watches the skills in a local folder and its subfolders. The folder need not exist yet.
 *
 * @example
 * ```ts
 * import { mkdir, writeFile } from 'node:fs/promises'
 * import { LocalFileWatcher } from '@skillstoke/compat'
 *
 * const watcher = new LocalFileWatcher('./skills', { debounceMs: 20 })
 * watcher.ready.then(async () => {
 *   await mkdir('skills/maps')
 *   await writeFile('skills/maps/SKILL.md', '---\nname: maps\ndescription: Finds routes.\n---\nCall route.\n')
 * })
 * for await (const batch of watcher.watch()) {
 *   console.log(batch.map(({ kind, skillName }) => `${kind} ${skillName}`)) // prints [ 'added maps' ]
 *   watcher.stop()
 * }
 * ```
 */
export class LocalFileWatcher extends SourceWatcher {
  /**
   * @throws {SkillError} INVALID_OPTION for an empty path or a debounce time below 0
   */
  constructor(path: string, options: LocalFileWatcherOptions = {}) {
    checkOptions('LocalFileWatcher', options, KNOWN)
    const { debounceMs = DEFAULT_DEBOUNCE_MS, linkRoots = [], logger } = options
    super(directory(path, { reading: EXO_READING, linkRoots, onMissingRoot: () => undefined }), {
      settle: {
        settleMs: debounceMs,
        burstMs: debounceMs,
        maxWaitMs: Math.max(debounceMs, MAX_WAIT_MS),
      },
      ...(logger === undefined ? {} : { logger }),
    })
  }
}

const MAX_WAIT_MS = 2_000
