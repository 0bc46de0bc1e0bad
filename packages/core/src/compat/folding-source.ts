import {
  captureSkill,
  compareText,
  parseSkill,
  type ReadContext,
  type ReadingPolicy,
  type Skill,
  type SkillSource,
  type SourceContents,
  type SourceEntry,
  type SourceHint,
  type SourceReading,
  type SourceState,
  type Trust,
} from '../index.ts'
import { EXO_READING, toFolder } from './exo-skill.ts'
import type { SkillChangeFields } from './skill-watcher.ts'

/** A folder of skills that is read once, or on demand. */
export interface OneShotFolder {
  readonly root: string
  readonly source: SkillSource
}

/**
 * A source whose contents are read on demand, and then follow what watchers tell: edits become contents here, and
 * nowhere else.
 */
export class FoldingSource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: Trust = 'auto'
  readonly reading: Partial<ReadingPolicy> = EXO_READING
  readonly #folder: OneShotFolder | undefined
  readonly #bodies: Map<string, string>
  /** What the folder held when it was read. */
  #read: SourceContents = { entries: [], diagnostics: [] }
  /** What watchers told since, by location; `undefined` is what is gone. */
  readonly #told = new Map<string, SkillChangeFields | undefined>()
  /** Why the folder is shown as it was earlier. */
  failure: unknown
  #isDue = false
  #hasNews = false
  #onHint: ((hint: SourceHint) => void) | undefined
  #contents: SourceContents = this.#read

  /** `bodies` receives the instructions of each skill, by their digest, before the skill can be seen. */
  constructor(label: string, bodies: Map<string, string>, folder?: OneShotFolder) {
    this.label = label
    this.#bodies = bodies
    this.origin = folder?.root ?? `watcher:${label}`
    this.#folder = folder
  }

  /** The next reading reads the folder again and forgets what watchers told. */
  reload(): void {
    this.#isDue = this.#folder !== undefined
    this.#hasNews = true
    this.#onHint?.({ area: '' })
  }

  /** Whether a path is in the folder. */
  covers(path: string): boolean {
    const root = this.#folder?.root
    return root !== undefined && (path === root || path.startsWith(`${root}/`))
  }

  /** Whether a skill of this name is among what it holds. */
  holds(name: string): boolean {
    return this.#contents.entries.some(entry => entry.name === name)
  }

  /** Of the instructions of everything that it holds, served or not. */
  bodyDigests(): readonly string[] {
    return this.#contents.entries.flatMap(({ skill }) => skill?.bodyDigest ?? [])
  }

  /** Takes over what a watcher told; visible after the next reading. */
  fold(event: SkillChangeFields): void {
    const location = this.#locationOf(event)
    const known = this.#contents.entries.find(entry => entry.name === event.skillName)?.location
    if (known !== undefined && known !== location) this.#told.set(known, undefined)
    this.#told.set(location, event.kind === 'removed' ? undefined : event)
    this.#hasNews = true
  }

  watch(onHint: (hint: SourceHint) => void): () => void {
    this.#onHint = onHint
    return () => {
      this.#onHint = undefined
    }
  }

  hasHints(): boolean {
    return this.#hasNews
  }

  async read(context: ReadContext): Promise<SourceReading> {
    this.#hasNews = false
    if (this.#isDue) {
      const reading = await this.#readFolder(context)
      this.#isDue = false
      this.#told.clear()
      if (reading !== undefined) this.#read = reading.contents
    }
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

  /** Of another machine what is there now, and what was there last only when that cannot be had. */
  async #readFolder(context: ReadContext): Promise<SourceReading | undefined> {
    this.failure = undefined
    let reading: SourceReading | undefined
    try {
      do reading = await this.#folder?.source.read({ ...context, depth: 'full', final: true })
      while (reading?.isStored === true)
    } catch (thrown) {
      this.failure = thrown
      if (reading === undefined) throw thrown
    }
    return reading
  }

  async #keepBody(skill: Skill, { store }: ReadContext): Promise<void> {
    if (this.#bodies.has(skill.bodyDigest)) return
    const file = skill.files.find(({ path }) => path === skill.skillFile)
    const bytes = file === undefined ? undefined : await store.get(file.digest)
    const parsed =
      bytes === undefined ? undefined : parseSkill(bytes, { policy: EXO_READING, directoryName: skill.name })
    if (parsed?.ok === true) this.#bodies.set(skill.bodyDigest, parsed.value.body)
  }

  #fold(context: ReadContext): SourceContents {
    if (this.#told.size === 0) return this.#read
    const before = new Map(this.#contents.entries.map(entry => [entry.location, entry]))
    const entries = this.#read.entries.filter(entry => !this.#told.has(entry.location))
    for (const [location, event] of this.#told) {
      if (event?.skill === undefined || event.skill === null) continue
      const entry = captureSkill(
        {
          source: this.label,
          location,
          files: toFolder(event.skill),
          ...(this.#folder === undefined ? {} : { directory: `${this.#folder.root}/${location}` }),
        },
        { ...context, reading: EXO_READING },
      )
      entries.push(isSame(before.get(location), entry) ? (before.get(location) as SourceEntry) : entry)
    }
    entries.sort((a, b) => compareText(a.location, b.location))
    return { entries, diagnostics: this.#read.diagnostics }
  }

  /** The folder of its text within this source, or its name. */
  #locationOf({ skillName, sourcePath }: SkillChangeFields): string {
    const root = this.#folder?.root
    if (root === undefined || !this.covers(sourcePath)) return skillName
    const within = sourcePath.slice(root.length + 1)
    return /\.md$/i.test(within) ? within.replace(/\/?[^/]*$/, '') : within
  }
}

function isSame(before: SourceEntry | undefined, after: SourceEntry): boolean {
  const revisionOf = (skill: Skill | undefined): string | undefined => skill?.revision
  return (
    before !== undefined &&
    revisionOf(before.skill) === revisionOf(after.skill) &&
    JSON.stringify(before.diagnostics) === JSON.stringify(after.diagnostics)
  )
}
