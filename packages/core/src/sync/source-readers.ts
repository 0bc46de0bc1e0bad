import { SkillError } from '../errors.ts'
import { closeInTurn, LATE, waitAtMost } from '../host.ts'
import { quote } from '../quote.ts'
import type { DuplicatePolicy } from '../registry/duplicate-policy.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import type { Skill } from '../skill/skill.ts'
import { isLoadableName } from '../skill/skill-name.ts'
import type { NotSkillQuery, NotSkills } from '../source/not-skill.ts'
import type { SkillSource } from '../source/skill-source.ts'
import type { PreScan } from './pre-scan.ts'
import { type SourceStatus, SourceSync, type SourceSyncOptions } from './source-sync.ts'

/** Occasions on which sources are scanned although no event reported a change. */
export interface ReadTriggers {
  /** Whether the skill's folder is read again before a skill is loaded. @default true */
  readonly onAccess: boolean
  /**
   * Whether `fresh()` scans sources that get no events. Every `update()` of a session calls `fresh()`.
   * @default true
   */
  readonly onRequest: boolean
}

export interface SourceReadersOptions extends Omit<SourceSyncOptions, 'source' | 'readsOnRequest'> {
  readonly triggers: ReadTriggers
  /** Decides which sources can serve a name instead of the source that serves the name now. */
  readonly onDuplicate: DuplicatePolicy
  readonly preScan: PreScan | undefined
}

/**
 * Longest time that a request for one skill waits for a scan, in milliseconds. If the scan takes longer, the request
 * fails. The limit exceeds `DEFAULT_SETTLE.maxWaitMs`, so that a scan at the deadline can still answer.
 */
export const MAX_LOOK_MS = 5_000

/** Scans the sources of a runtime: all sources, the folders of one skill, or only changed folders. */
export class SourceReaders {
  readonly #options: SourceReadersOptions
  readonly #syncs: SourceSync[] = []
  #isClosed = false

  constructor(options: SourceReadersOptions) {
    this.#options = options
  }

  /**
   * Adds a source after all other sources. Call `start()` of the returned object to start the first scan.
   * @throws {SkillError} CLOSED; DUPLICATE_SOURCE when another source has the same label
   */
  add(source: SkillSource): SourceSync {
    this.assertOpen()
    const { triggers, preScan: _, onDuplicate: __, ...options } = this.#options
    const sync = new SourceSync({ ...options, source, readsOnRequest: triggers.onRequest })
    this.#options.registry.addSource(source)
    this.#syncs.push(sync)
    return sync
  }

  async start(): Promise<void> {
    await this.#options.preScan?.run('start')
    await Promise.all(this.#syncs.map(sync => sync.start()))
  }

  /** Resolves when every change that was made before the call is visible, even if no event reported the change. */
  async reload(): Promise<void> {
    this.assertOpen()
    await this.#options.preScan?.run('reload')
    await Promise.all(this.#syncs.map(sync => sync.reload()))
    this.assertOpen()
  }

  /** Scans one whole source, even if no hint came. */
  async reloadOne(origin: string): Promise<void> {
    await this.#syncs.find(({ source }) => source.origin === origin)?.reload()
  }

  /**
   * Does the same as `reload`, but reads almost no files while events are reliable, and waits for at most `maxWaitMs`.
   * @throws {SkillError} TIMED_OUT when the scan takes longer
   */
  async fresh(maxWaitMs: number = Infinity): Promise<void> {
    this.assertOpen()
    await this.#within(maxWaitMs, this.#readNewer(), 'the skills')
  }

  /**
   * Reads the folders that may contain a skill with the given name, and waits for at most `MAX_LOOK_MS`. Does nothing
   * if `triggers.onAccess` is false.
   * @throws {SkillError} TIMED_OUT when the newest state of these folders cannot be read
   */
  async refresh(name: string): Promise<void> {
    this.assertOpen()
    if (!this.#options.triggers.onAccess) return
    await this.#within(MAX_LOOK_MS, this.lookAgain(name), `the skill ${quote(name)}`)
    const fault = this.findRestless(name)
    if (fault !== undefined) throw fault
  }

  /** Returns the error for a skill whose folder never came to rest; `undefined` if its newest text was read. */
  findRestless(name: string): SkillError | undefined {
    const { current } = this.#options.registry
    const served = current.find(name)
    const isAt = ({ label }: SourceSync, place: string): boolean =>
      served === undefined
        ? place.split('/').at(-1) === name
        : served.source === label && served.location === place
    const sync = this.#syncs.find(each => each.restless.some(place => isAt(each, place)))
    if (sync === undefined) return undefined
    const { location = name, revision } = served ?? {}
    const isHere = (report: SkillReport): boolean =>
      report.source === sync.label && report.location === location
    // The text of a pinned skill does not depend on its folder.
    if (current.reports().find(isHere)?.status === 'pinned') return undefined
    return new SkillError(
      'TIMED_OUT',
      `the folder of the skill ${quote(name)} keeps changing while it is read, or contains a temporary file that is younger than 10 seconds, so its newest text is unknown. Try again. Move files that change all the time to another folder, or list them in .skillignore.`,
      { data: revision === undefined ? {} : { lastComplete: revision } },
    )
  }

  /**
   * Rereads the folders that serve a skill name, and searches for a new folder with that name. The caller does not wait
   * for sources that cannot serve the name.
   */
  async lookAgain(name: string): Promise<void> {
    this.assertOpen()
    const { current } = this.#options.registry
    const isNamed = ({ name: other, location }: { name: string; location: string }): boolean =>
      other === name || location.split('/').at(-1) === name
    const served = current.find(name)
    const known = served === undefined ? current.reports().filter(isNamed) : [served]
    const isProbed = known.length === 0
    const asked = this.#syncs.filter((_, index) => this.#canServe(index, served?.source))
    await Promise.all(
      asked.map(async sync => {
        const locations = new Set(
          known.flatMap(({ source, location }) => (source === sync.label ? location : [])),
        )
        // If no events report changes, a new skill can be in any folder.
        if (isProbed && sync.isBlind) return await sync.reload()
        // A new folder with that name could have precedence over the folder that is served now.
        if ((isProbed || sync.scansOnRequest) && isLoadableName(name)) locations.add(name)
        if (locations.size === 0) await sync.fresh()
        await Promise.all([...locations].map(location => sync.refresh(location)))
      }),
    )
    // The skill may have moved to a source that was not scanned.
    if (served !== undefined && this.#options.registry.current.find(name)?.source !== served.source)
      await Promise.all(this.#syncs.map(sync => (sync.isBlind ? sync.reload() : sync.fresh())))
  }

  /** Whether a source can serve a name instead of the source that serves the name now. */
  #canServe(index: number, serving: string | undefined): boolean {
    const served = this.#syncs.findIndex(({ label }) => label === serving)
    const { onDuplicate } = this.#options
    if (served === -1 || typeof onDuplicate === 'function') return true
    return onDuplicate === 'last-wins' ? index >= served : index <= served
  }

  /** Reads the folder of a skill again, because the store has lost some of its bytes. */
  async recapture({ source, location }: Skill): Promise<void> {
    await this.#syncs.find(({ label }) => label === source)?.recapture(location)
  }

  /** Finds the files and folders in all sources that are not skills. Searches the sources in order of precedence. */
  async findNotSkills(query?: NotSkillQuery): Promise<NotSkills> {
    const answers = await Promise.all(this.#syncs.map(sync => sync.findNotSkills(query)))
    return {
      found: answers.flatMap(({ found }) => found),
      isComplete: answers.every(({ isComplete }) => isComplete),
    }
  }

  /** Returns one item for each source: the error of its last scan, or `undefined`. */
  failures(): readonly unknown[] {
    return this.#syncs.map(sync => sync.failure)
  }

  status(): readonly SourceStatus[] {
    return this.#syncs.map(sync => sync.status())
  }

  /** Lists the sources in order of precedence. */
  list(): readonly SkillSource[] {
    return this.#syncs.map(sync => sync.source)
  }

  /** Finds the first source that passes a test. */
  find(isMeant: (source: SkillSource) => boolean): SkillSource | undefined {
    return this.list().find(isMeant)
  }

  /** @throws {SkillError} CLOSED once the runtime is being closed */
  assertOpen(): void {
    if (this.#isClosed) throw new SkillError('CLOSED', 'the skill runtime is closed')
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#options.preScan?.close()
    const closing = this.#syncs.map(async sync => await sync.close())
    await Promise.allSettled(closing)
    await closeInTurn(
      closing.map(closed => () => closed),
      this.#options.logger,
    )
  }

  /** Waits for a scan. A caller never continues with an older state without knowing it. */
  async #within(limitMs: number, scan: Promise<void>, what: string): Promise<void> {
    const outcome = await waitAtMost(this.#options.clock, limitMs, scan)
    // If the runtime was closed during the wait, the scan may be incomplete.
    this.assertOpen()
    if (outcome !== LATE) return
    throw new SkillError(
      'TIMED_OUT',
      `${what} could not be read within ${limitMs} ms, because a program is still writing or the disk is slow. Try again.`,
      { data: { limitMs } },
    )
  }

  async #readNewer(): Promise<void> {
    if (this.#syncs.some(sync => sync.scansOnRequest)) await this.#options.preScan?.run('request')
    await Promise.all(this.#syncs.map(sync => sync.fresh()))
  }
}
