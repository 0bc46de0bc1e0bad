import { SkillError } from '@skillstoke/core'
import { compareText } from '@skillstoke/core/internal'
import {
  captureSkill,
  type ReadingPolicy,
  type SkillSource,
  type SourceContents,
  type SourceEntry,
  type SourceReadContext,
  type SourceReading,
  type SourceState,
  type SourceWatch,
} from '@skillstoke/core/source'
import { isWithinBase, locateEvent, toEventBase } from './event-location.ts'
import { EXO_READING, toFolder, type WatchedSkill } from './exo-skill.ts'
import type { SkillChangeFields } from './skill-watcher.ts'
import type { SourceRoot } from './source-root.ts'

const EMPTY: SourceContents = { entries: [], diagnostics: [] }

/** The contents of a registered folder or repository: what it had when it was last read, and the events of watchers since then. */
export class FoldingSource implements SkillSource {
  readonly label: string
  readonly root: SourceRoot
  readonly trust = 'auto'
  readonly reading: Partial<ReadingPolicy> = EXO_READING
  readonly #source: SkillSource
  /** Contents at the last read. */
  #read: SourceContents = EMPTY
  /** The skill of the newest watcher event about each location since the last read; `null` for a removed skill. */
  readonly #told = new Map<string, WatchedSkill | null>()
  /** The error of the last read. While it is set, the source keeps the earlier contents. */
  failure: unknown
  /** A pending request to read the folder, which the next `read()` fulfils. */
  #due: 'load' | 'catch-up' | undefined
  #isLoaded = false
  #hasNews = false
  #onHint: ((area: string) => void) | undefined
  #contents: SourceContents = this.#read

  /** @param source is read on demand and not watched */
  constructor(label: string, root: SourceRoot, source: SkillSource) {
    this.label = label
    this.root = root
    this.#source = source
  }

  get origin(): string {
    return this.root.origin
  }

  /**
   * Makes the next `read()` read the folder and discard earlier watcher events. If the folder cannot be read, `load`
   * makes `read()` reject. With `catch-up`, which has an effect only after a `load`, the source keeps its contents and
   * `failure` contains the reason; if the folder was removed, the contents become empty.
   */
  request(due: 'load' | 'catch-up'): void {
    if (due === 'catch-up' && !this.#isLoaded) return
    // `load` takes precedence over `catch-up`, because `load` must reject if the folder cannot be read.
    if (this.#due !== 'load') this.#due = due
    this.#hasNews = true
    this.#onHint?.('')
  }

  /** Adds a watcher event. The next `read()` applies the event to the contents. */
  fold(event: SkillChangeFields): void {
    const base = toEventBase(this.root, event.sourcePath)
    const names = this.#namesByLocation()
    const known = [...names].flatMap(([location, name]) =>
      name === event.skillName && isWithinBase(location, base) ? location : [],
    )
    const has = (location: string): boolean => names.has(location)
    const location = locateEvent(event, base, this.root, { ofName: known, has })
    // Within a watched folder, names are unique. If a skill of this name is known at another location, that skill was
    // therefore moved or removed.
    const isSamePlace = base.isText && known.includes(location)
    if (!isSamePlace) for (const other of known) this.#told.set(other, null)
    this.#told.set(location, event.kind === 'removed' ? null : event.skill)
    this.#hasNews = true
  }

  watch(onHint: (area: string) => void): SourceWatch {
    this.#onHint = onHint
    return { stop: () => (this.#onHint = undefined), hasHints: () => this.#hasNews }
  }

  async read(context: SourceReadContext): Promise<SourceReading> {
    this.#hasNews = false
    if (this.#due !== undefined) await this.#readDue(this.#due, context)
    this.#contents = this.#applyEvents(context)
    return { contents: this.#contents, settled: true }
  }

  state(): SourceState {
    return { mode: 'events' }
  }

  async close(): Promise<void> {
    await this.#source.close?.()
  }

  async #readDue(due: 'load' | 'catch-up', context: SourceReadContext): Promise<void> {
    const before = new Map(this.#told)
    this.#due = undefined
    try {
      this.#read = await this.#readFolder(context)
      this.#isLoaded = true
    } catch (thrown) {
      if (due === 'load') {
        this.#due = due
        throw thrown
      }
      if (!SkillError.isInstance(thrown, 'SOURCE_MISSING')) return
      this.failure = undefined
      this.#read = EMPTY
    }
    // Keep events that arrived during the read, because these events may be newer than the contents that were read.
    for (const [location, told] of before) if (this.#told.get(location) === told) this.#told.delete(location)
  }

  /** Reads the folder. Uses the stored copy of a remote source only if the newest state cannot be read. */
  async #readFolder(context: SourceReadContext): Promise<SourceContents> {
    this.failure = undefined
    let reading: SourceReading | undefined
    try {
      do reading = await this.#source.read({ ...context, depth: 'full', final: true, waitsForWriters: false })
      while (reading.isStored === true)
    } catch (thrown) {
      this.failure = thrown
      if (reading === undefined) throw thrown
    }
    return reading.contents
  }

  #applyEvents(context: SourceReadContext): SourceContents {
    if (this.#told.size === 0) return this.#read
    const entries = this.#read.entries.filter(entry => !this.#told.has(entry.location))
    for (const [location, skill] of this.#told) {
      if (skill === null) continue
      const { origin, isUrl } = this.root
      const before = this.#contents.entries.find(entry => entry.location === location)
      const folder = {
        // Skills of events have the label of the folder's own source. Otherwise the next read of the folder would report
        // them as moved.
        source: this.#source.label,
        location,
        files: toFolder(skill),
        executables: skill.executables ?? executablesOf(before),
        ...(isUrl ? {} : { directory: location === '' ? origin : `${origin}/${location}` }),
      }
      entries.push(captureSkill(folder, { ...context, reading: EXO_READING }))
    }
    entries.sort((a, b) => compareText(a.location, b.location))
    return { entries, diagnostics: this.#read.diagnostics }
  }

  /** Returns the name of the skill at each location, also of events that no `read()` has applied yet. */
  #namesByLocation(): ReadonlyMap<string, string> {
    const names = new Map(this.#read.entries.map(({ location, name }) => [location, name]))
    for (const [location, skill] of this.#told)
      if (skill === null) names.delete(location)
      else names.set(location, skill.name)
    return names
  }
}

function executablesOf(entry: SourceEntry | undefined): readonly string[] {
  return entry?.skill?.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path) ?? []
}
