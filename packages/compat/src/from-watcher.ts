import { type Logger, MemorySource } from '@skillstoke/core'
import { checkOptions, type KnownOptions, silentLogger } from '@skillstoke/core/internal'
import { type Clock, type SkillSource, type SourceWatch, systemClock } from '@skillstoke/core/source'
import { EXO_READING, toFolder } from './exo-skill.ts'
import { followWatcher } from './follow-watcher.ts'
import type { SkillChangeFields, SkillWatcherLike } from './skill-watcher.ts'

export interface FromWatcherOptions {
  /** Label of the source in digests and messages. */
  readonly label: string
  readonly logger?: Logger
  readonly clock?: Clock
}

const KNOWN: KnownOptions<FromWatcherOptions> = { label: true, logger: true, clock: true }

/**
 * Returns a source whose contents are built from the events of an Exo watcher. If the watcher fails, the source starts it again.
 *
 * @example
 * ```ts
 * import { fromWatcher, LocalFileWatcher } from '@skillstoke/compat'
 * import { createSkillRuntime } from '@skillstoke/core'
 *
 * const source = fromWatcher(new LocalFileWatcher('./incoming', { debounceMs: 20 }), { label: 'incoming' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(skills.status().map(({ label }) => label)) // prints [ 'incoming' ]
 * ```
 */
export function fromWatcher(watcher: SkillWatcherLike, options: FromWatcherOptions): SkillSource {
  checkOptions('fromWatcher()', options, KNOWN)
  return new WatcherSource(watcher, options)
}

class WatcherSource extends MemorySource {
  readonly #watcher: SkillWatcherLike
  readonly #options: FromWatcherOptions & { readonly logger: Logger; readonly clock: Clock }

  constructor(watcher: SkillWatcherLike, options: FromWatcherOptions) {
    super({ label: options.label, reading: EXO_READING })
    this.#watcher = watcher
    this.#options = {
      ...options,
      logger: options.logger ?? silentLogger,
      clock: options.clock ?? systemClock,
    }
  }

  override watch(onHint: (area: string) => void): SourceWatch {
    const hints = super.watch(onHint)
    const stop = new AbortController()
    void followWatcher(this.#watcher, {
      onBatch: batch => {
        for (const event of batch) foldInto(this, event)
      },
      ...this.#options,
      signal: stop.signal,
    })
    return {
      ...hints,
      stop: () => {
        stop.abort()
        hints.stop()
        // Do not wait until the watcher has ended, and ignore errors that the watcher throws while it stops.
        void (async () => await this.#watcher.stop())().catch(() => undefined)
      },
    }
  }
}

/** Applies a watcher event to a source whose skills have their names as locations. */
export function foldInto(source: MemorySource, { kind, skillName, skill }: SkillChangeFields): void {
  if (kind === 'removed' || skill === null) source.remove(skillName)
  else source.putFolder(skillName, toFolder(skill), skill.executables)
}
