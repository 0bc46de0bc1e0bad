import { SkillError, toMessage } from '../errors.ts'
import type { Logger } from '../host.ts'
import type { NotSkillQuery, NotSkills } from '../source/not-skill.ts'
import type { MarkReason, SkillSource, SourceState, SourceWatch } from '../source/skill-source.ts'

const NOTHING_FOUND: NotSkills = { found: [], isComplete: true }
const INCOMPLETE: NotSkills = { found: [], isComplete: false }

/**
 * Calls every method of a source except `read`, and catches the failure of each call. A failing source is scanned
 * whenever one of its skills is requested. A failure does not affect other sources. For each method, only the first
 * failure is logged.
 */
export class GuardedSource {
  readonly #source: SkillSource
  readonly #logger: Logger
  readonly #failed = new Set<string>()

  constructor(source: SkillSource, logger: Logger) {
    this.#source = source
    this.#logger = logger
  }

  state(): SourceState {
    return this.#call('state', () => this.#source.state(), {
      mode: 'manual',
      reason: 'the source does not report how it detects changes',
    })
  }

  /** Starts the watch of the source. Returns `undefined` if the source has no watch or the start fails. */
  watch(onHint: (area: string) => void): SourceWatch | undefined {
    const watch = this.#call('watch', () => this.#source.watch?.(onHint), undefined)
    if (watch === undefined) return undefined
    return {
      stop: () => this.#call('watch.stop', () => watch.stop(), undefined),
      // If `hasHints()` fails, return `true`, so that the source is scanned.
      hasHints: () => this.#call('watch.hasHints', () => watch.hasHints?.() ?? false, true),
      drain: async () => await this.#await('watch.drain', async () => await watch.drain?.(), undefined),
      isBusy: async () =>
        await this.#await('watch.isBusy', async () => (await watch.isBusy?.()) ?? false, false),
      ...(watch.concerns === undefined
        ? {}
        : {
            concerns: (area: string, location: string) =>
              this.#call('watch.concerns', () => watch.concerns?.(area, location) ?? true, true),
          }),
    }
  }

  /** Marks a folder, so that the next `hinted` scan reads it. Returns `false` if a full scan is necessary instead. */
  mark(location: string, why: MarkReason): boolean {
    const mark = (): boolean => {
      if (this.#source.mark === undefined) return false
      this.#source.mark(location, why)
      return true
    }
    return this.#call('mark', mark, false)
  }

  /** Returns the version that the last scan read, if the source has versions. */
  version(): string | undefined {
    return this.#call('versions.current', () => this.#source.versions?.current(), undefined)
  }

  async findNotSkills(query?: NotSkillQuery): Promise<NotSkills> {
    const find = async (): Promise<NotSkills> => (await this.#source.findNotSkills?.(query)) ?? NOTHING_FOUND
    return await this.#await('findNotSkills', find, INCOMPLETE)
  }

  #call<T>(method: string, work: () => T, otherwise: T): T {
    try {
      return work()
    } catch (thrown) {
      this.#log(method, thrown)
      return otherwise
    }
  }

  async #await<T>(method: string, work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      // Throw this error, because the caller passed an invalid query.
      if (SkillError.isInstance(thrown, 'INVALID_OPTION')) throw thrown
      this.#log(method, thrown)
      return otherwise
    }
  }

  #log(method: string, thrown: unknown): void {
    if (this.#failed.has(method)) return
    this.#failed.add(method)
    this.#logger.error('a method of a source failed', {
      source: this.#source.label,
      method,
      error: toMessage(thrown),
    })
  }
}
