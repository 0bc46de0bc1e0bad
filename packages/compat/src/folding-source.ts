import { parseSkill, type Skill, SkillError } from '@skillstoke/core'
import { compareText } from '@skillstoke/core/internal'
import {
  captureSkill,
  EMPTY_CONTENTS,
  type ReadingPolicy,
  type SkillSource,
  type SourceContents,
  type SourceEntry,
  type SourceHint,
  type SourceReadContext,
  type SourceReading,
  type SourceState,
  type SourceTrust,
  type SourceWatch,
} from '@skillstoke/core/source'
import { type EventBase, isWithinBase, locateEvent, toEventBase } from './event-location.ts'
import { EXO_READING, toFolder, type WatchedSkill } from './exo-skill.ts'
import type { SkillChangeFields } from './skill-watcher.ts'
import type { SourceRoot } from './source-root.ts'

/** A folder of skills that is read on demand and not watched. */
export interface OneShotFolder {
  readonly root: SourceRoot
  readonly source: SkillSource
}

/** The newest watcher event about one location. */
interface Told {
  readonly name: string
  /** Absent if the skill was removed. */
  readonly skill?: WatchedSkill
}

/**
 * A source that reads its folder on demand, and between these reads applies watcher events to the contents in memory.
 */
export class FoldingSource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: SourceTrust = 'auto'
  readonly reading: Partial<ReadingPolicy> = EXO_READING
  readonly #folder: OneShotFolder | undefined
  readonly #bodies: Map<string, string>
  /** Contents of the folder at the last read. */
  #read: SourceContents = EMPTY_CONTENTS
  /** The newest watcher event about each location since the folder was last read. */
  readonly #told = new Map<string, Told>()
  /** The error of the last read of the folder. While it is set, the source keeps the earlier contents. */
  failure: unknown
  /**
   * A pending request to read the folder, which the next `read()` fulfils. If the folder cannot be read, `read()`
   * rejects for a `load` request, and keeps the earlier contents for a `catch-up` request.
   */
  #due: 'load' | 'catch-up' | undefined
  #isLoaded = false
  #hasNews = false
  #onHint: ((hint: SourceHint) => void) | undefined
  #contents: SourceContents = this.#read

  /** @param bodies receives the instructions of each skill by digest, before the skill becomes visible */
  constructor(label: string, bodies: Map<string, string>, folder?: OneShotFolder) {
    this.label = label
    this.#bodies = bodies
    this.origin = folder?.root.origin ?? `watcher:${label}`
    this.#folder = folder
  }

  /** Makes the next `read()` read the folder and discard earlier watcher events. */
  reload(): void {
    this.#request('load')
  }

  /**
   * If the folder was loaded before, makes the next `read()` read the folder and discard earlier watcher events. If the
   * folder cannot be read, the source keeps its contents and `failure` contains the reason. If the folder was removed,
   * the contents become empty.
   */
  catchUp(): void {
    if (this.#isLoaded) this.#request('catch-up')
  }

  /** Whether a path is in the folder. */
  covers(path: string): boolean {
    return this.#folder?.root.within(path) !== undefined
  }

  /** Whether a watcher of the folder or URL `origin` could report skills of this source. */
  overlaps(origin: string): boolean {
    return this.#folder?.root.overlaps(origin) === true
  }

  /** Returns the digests of the instructions of all skills, including skills that are not served. */
  bodyDigests(): readonly string[] {
    return this.#contents.entries.flatMap(({ skill }) => skill?.bodyDigest ?? [])
  }

  /** Adds a watcher event. The next `read()` applies the event to the contents. */
  fold(event: SkillChangeFields): void {
    const { kind, skillName: name, skill } = event
    const base = toEventBase(this.#folder?.root, event.sourcePath)
    const known = this.#locationsOf(name).filter(location => isWithinBase(location, base))
    const location = this.#locationOf(event, base, known)
    // Within a watched folder, names are unique. If a skill of this name is known at another location, that skill was
    // therefore moved or removed.
    const isSamePlace = base.isText && known.includes(location)
    if (!isSamePlace) for (const other of known) this.#told.set(other, { name })
    this.#told.set(location, kind === 'removed' || skill === null ? { name } : { name, skill })
    this.#hasNews = true
  }

  watch(onHint: (hint: SourceHint) => void): SourceWatch {
    this.#onHint = onHint
    return { stop: () => (this.#onHint = undefined), hasHints: () => this.#hasNews }
  }

  async read(context: SourceReadContext): Promise<SourceReading> {
    this.#hasNews = false
    if (this.#due !== undefined) await this.#readDue(this.#due, context)
    this.#contents = this.#fold(context)
    for (const { skill } of this.#contents.entries)
      if (skill !== undefined) await this.#keepBody(skill, context)
    return { contents: this.#contents, settled: true }
  }

  state(): SourceState {
    return { mode: 'events' }
  }

  async close(): Promise<void> {
    await this.#folder?.source.close?.()
  }

  #request(due: 'load' | 'catch-up'): void {
    // `load` takes precedence over `catch-up`, because `load` must reject if the folder cannot be read.
    if (this.#folder !== undefined && this.#due !== 'load') this.#due = due
    this.#hasNews = true
    this.#onHint?.({ area: '' })
  }

  async #readDue(due: 'load' | 'catch-up', context: SourceReadContext): Promise<void> {
    const before = new Map(this.#told)
    this.#due = undefined
    try {
      const reading = await this.#readFolder(context)
      if (reading !== undefined) this.#read = reading.contents
      this.#isLoaded = true
    } catch (thrown) {
      if (due === 'load') {
        this.#due = due
        throw thrown
      }
      if (!SkillError.isInstance(thrown, 'SOURCE_MISSING')) return
      this.failure = undefined
      this.#read = EMPTY_CONTENTS
    }
    // Keep events that arrived during the read, because these events may be newer than the contents that were read.
    for (const [location, told] of before) if (this.#told.get(location) === told) this.#told.delete(location)
  }

  /** Reads the folder. Uses the stored copy of a remote source only if the newest state cannot be read. */
  async #readFolder(context: SourceReadContext): Promise<SourceReading | undefined> {
    this.failure = undefined
    let reading: SourceReading | undefined
    try {
      do
        reading = await this.#folder?.source.read({
          ...context,
          depth: 'full',
          final: true,
          waitsForWriters: false,
        })
      while (reading?.isStored === true)
    } catch (thrown) {
      this.failure = thrown
      if (reading === undefined) throw thrown
    }
    return reading
  }

  async #keepBody(skill: Skill, { store }: SourceReadContext): Promise<void> {
    if (this.#bodies.has(skill.bodyDigest)) return
    const file = skill.files.find(({ path }) => path === skill.skillFile)
    const bytes = file === undefined ? undefined : await store.get(file.digest)
    const parsed =
      bytes === undefined ? undefined : parseSkill(bytes, { policy: EXO_READING, directoryName: skill.name })
    if (parsed?.ok === true) this.#bodies.set(skill.bodyDigest, parsed.value.body)
  }

  #fold(context: SourceReadContext): SourceContents {
    if (this.#told.size === 0) return this.#read
    const before = new Map(this.#contents.entries.map(entry => [entry.location, entry]))
    const entries = this.#read.entries.filter(entry => !this.#told.has(entry.location))
    const root = this.#folder?.root
    // Skills of events have the label of the folder's own source. Otherwise the next read of the folder would report
    // them as moved.
    const source = this.#folder?.source.label ?? this.label
    for (const [location, { skill }] of this.#told) {
      if (skill === undefined) continue
      const executables = skill.executables ?? executablesOf(before.get(location))
      const folder = { source, location, files: toFolder(skill), executables }
      const place =
        root === undefined || root.isUrl
          ? {}
          : { directory: location === '' ? root.origin : `${root.origin}/${location}` }
      const entry = captureSkill({ ...folder, ...place }, { ...context, reading: EXO_READING })
      entries.push(isSame(before.get(location), entry) ? (before.get(location) as SourceEntry) : entry)
    }
    entries.sort((a, b) => compareText(a.location, b.location))
    return { entries, diagnostics: this.#read.diagnostics }
  }

  #locationOf(event: SkillChangeFields, base: EventBase, ofName: readonly string[]): string {
    const root = this.#folder?.root
    if (root === undefined) return event.skillName
    const has = (location: string): boolean =>
      this.#contents.entries.some(entry => entry.location === location)
    return locateEvent(event, base, root, { ofName, has })
  }

  /** Returns the locations of all skills with a name, including skills from events that no `read()` has applied yet. */
  #locationsOf(name: string): readonly string[] {
    const read = this.#contents.entries
      .filter(entry => entry.name === name && !this.#told.has(entry.location))
      .map(entry => entry.location)
    const told = [...this.#told].filter(([, each]) => each.name === name && each.skill !== undefined)
    return [...read, ...told.map(([location]) => location)]
  }
}

function executablesOf(entry: SourceEntry | undefined): readonly string[] {
  return entry?.skill?.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path) ?? []
}

/** Whether an event changes nothing. Equal files cause equal diagnostics, which name the path only after a read. */
function isSame(before: SourceEntry | undefined, after: SourceEntry): boolean {
  if (before?.skill === undefined || after.skill === undefined)
    return (
      before !== undefined &&
      before.skill === after.skill &&
      JSON.stringify(before.diagnostics) === JSON.stringify(after.diagnostics)
    )
  return before.skill.revision === after.skill.revision
}
