import { checkOptions, type KnownOptions, oneOf } from '../options.ts'
import { compareText } from '../skill/compare.ts'
import { READING_OPTIONS, type ReadingPolicy } from '../skill/reading-policy.ts'
import { renderSkillText, type SkillDefinition } from '../skill/skill-text.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'
import { type SourceTrust, TRUSTS } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { captureSkill, type FileContents, type SkillFolder } from './capture-skill.ts'
import type {
  SkillSource,
  SourceReadContext,
  SourceReading,
  SourceState,
  SourceWatch,
} from './skill-source.ts'

export interface MemorySourceOptions {
  /** Name of the source in digests and messages: short, and the same on every machine. */
  readonly label: string
  /** @default 'auto' */
  readonly trust?: SourceTrust
  /** How tolerant the parser is. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
}

const KNOWN: KnownOptions<MemorySourceOptions> = {
  label: true,
  trust: oneOf(TRUSTS),
  reading: READING_OPTIONS,
}

/** A skill from the host: the fields of its SKILL.md and the other files of its folder. */
export interface MemorySkill extends SkillDefinition {
  readonly files?: FileContents
}

/**
 * A source of skills that the host keeps in its program or in a database. Each change is visible immediately.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 *
 * const source = new MemorySource({ label: 'mine' }, [
 *   { name: 'greet', description: 'Use when greeting.', body: 'Say hello.', files: { 'names.md': 'Ada' } },
 * ])
 * await using skills = await createSkillRuntime({ sources: [source] })
 * source.put({ name: 'greet', description: 'Use when greeting.', body: 'Say good morning.' })
 * console.log((await skills.load('greet')).body) // prints Say good morning.
 * ```
 */
export class MemorySource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: SourceTrust
  readonly reading: Partial<ReadingPolicy>
  readonly #folders = new Map<string, SkillFolder>()
  /** The captured entry of each folder. An entry is valid while the folder is the same object. */
  readonly #captured = new Map<string, { readonly folder: SkillFolder; readonly entry: SourceEntry }>()
  #store: SkillStore | undefined
  #contents: SourceContents = EMPTY_CONTENTS
  #isDirty = true
  #onHint: ((area: string) => void) | undefined

  constructor(options: MemorySourceOptions, skills: readonly MemorySkill[] = []) {
    checkOptions('MemorySource', options, KNOWN)
    this.label = options.label
    this.origin = `memory:${options.label}`
    this.trust = options.trust ?? 'auto'
    this.reading = options.reading ?? {}
    for (const skill of skills) this.put(skill)
  }

  /** Adds a skill, or replaces the skill of the same name. */
  put(skill: MemorySkill): void {
    this.putFolder(skill.name, { ...skill.files, 'SKILL.md': renderSkillText(skill) })
  }

  /**
   * Adds or replaces a whole folder: `SKILL.md` and all other files.
   * @param executables paths of the files that are executable
   */
  putFolder(location: string, files: FileContents, executables: readonly string[] = []): void {
    const folder = { source: this.label, location, files: { ...files }, executables: [...executables] }
    this.#folders.set(location, folder)
    this.#hint(location)
  }

  /** Removes a skill by its name or location. Returns true if the skill existed. */
  remove(location: string): boolean {
    const isThere = this.#folders.delete(location)
    this.#captured.delete(location)
    if (isThere) this.#hint(location)
    return isThere
  }

  watch(onHint: (area: string) => void): SourceWatch {
    this.#onHint = onHint
    return { stop: () => (this.#onHint = undefined), hasHints: () => this.#isDirty }
  }

  async read({ store, hasher }: SourceReadContext): Promise<SourceReading> {
    if (store !== this.#store) this.#captured.clear()
    this.#store = store
    if (this.#isDirty) {
      this.#isDirty = false
      const context = { store, hasher, reading: this.reading }
      for (const [location, folder] of this.#folders) {
        if (this.#captured.get(location)?.folder === folder) continue
        this.#captured.set(location, { folder, entry: captureSkill(folder, context) })
      }
      const entries = [...this.#captured.values()].map(({ entry }) => entry)
      entries.sort((a, b) => compareText(a.location, b.location))
      this.#contents = Object.freeze({ entries: Object.freeze(entries), diagnostics: Object.freeze([]) })
    }
    return { contents: this.#contents, settled: true }
  }

  state(): SourceState {
    return { mode: 'events' }
  }

  #hint(area: string): void {
    this.#isDirty = true
    this.#onHint?.(area)
  }
}
