import { defined } from '../defined.ts'
import type { Hasher } from '../host.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { createSkill, type Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'

/** A source, with the settings for parsing its stored revisions. */
export interface LastGoodSource {
  readonly label: string
  readonly origin: string
  readonly reading?: Partial<ReadingPolicy> | undefined
}

/** The revisions that a folder served. */
export interface ServedRevisions {
  readonly last: Digest | undefined
  /** The revision that was served before `last`, and that is served again if `last` is rejected. */
  readonly earlier: Digest | undefined
}

/** Sources that several projects share, and the project of this process. */
export interface SharedSources {
  /** Any text that names the project, the same in every process of the project. */
  readonly project: string
  readonly origins: readonly string[]
  /**
   * True if an earlier process froze the project. Then a skill that the project has not served waits for approval, even if
   * another project serves it.
   * @default false
   */
  readonly wasFrozen?: boolean
}

export const NOTHING_SERVED: ServedRevisions = Object.freeze({ last: undefined, earlier: undefined })

/**
 * Remembers in the store which revision of a folder was served last, so that this revision can be served after a
 * restart. A frozen project has its own notes about sources that other projects share. Otherwise another project could
 * make a change live that waits here.
 */
export class LastGood {
  readonly #store: SkillStore
  readonly #hasher: Hasher
  readonly #shared: SharedSources | undefined

  constructor(store: SkillStore, hasher: Hasher, shared?: SharedSources) {
    this.#store = store
    this.#hasher = hasher
    this.#shared = shared
  }

  /** Notes the last two revisions that a folder served. */
  remember(origin: string, location: string, { last, earlier }: ServedRevisions): void {
    const key = this.#keyOf(origin)
    this.#store.setRef(refOf(key, location), last)
    this.#store.setRef(earlierOf(key, location), earlier)
  }

  /** Returns the name under which notes about a source are stored. */
  #keyOf(origin: string): string {
    if (this.#shared?.origins.includes(origin) !== true) return origin
    return JSON.stringify([this.#shared.project, origin])
  }

  find(origin: string, location: string): ServedRevisions {
    const key = this.#keyOf(origin)
    const served = this.#read(key, location)
    if (key === origin || served.last !== undefined || this.#shared?.wasFrozen === true) return served
    // A project that was just frozen begins with the notes that all projects share.
    const common = this.#read(origin, location)
    if (common.last !== undefined) this.remember(origin, location, common)
    return common
  }

  #read(key: string, location: string): ServedRevisions {
    const last = this.#store.getRef(refOf(key, location))
    return { last, earlier: last && this.#store.getRef(earlierOf(key, location)) }
  }

  /**
   * Protects a pinned revision from garbage collection. The revision that was served before the pin also stays
   * protected.
   */
  keepPinned(origin: string, location: string, revision: Digest | undefined): void {
    this.#store.setRef(pinOf(this.#keyOf(origin), location), revision)
  }

  /** Returns true if the source was shown before, even if it was empty. */
  isKnown(origin: string): boolean {
    return this.#store.getRef(markOf(origin)) !== undefined
  }

  markKnown(origin: string): void {
    // The value is irrelevant. With the digest of empty content, this entry keeps no files from being garbage-collected.
    if (!this.isKnown(origin)) this.#store.setRef(markOf(origin), digestOf(new Uint8Array(), this.#hasher))
  }

  /** Reads a stored revision of a folder as a skill. */
  async readRevision(
    { label, reading }: LastGoodSource,
    entry: Pick<SourceEntry, 'location' | 'skillFile' | 'directory'>,
    revision: Digest,
  ): Promise<Skill | undefined> {
    const files = await this.#store.getTree(revision)
    const file = [entry.skillFile ?? '', 'SKILL.md', 'skill.md']
      .map(name => files?.find(each => each.path === name))
      .find(each => each !== undefined)
    const bytes = file === undefined ? undefined : await this.#store.get(file.digest)
    if (files === undefined || file === undefined || bytes === undefined) return undefined
    const name = entry.location.slice(entry.location.lastIndexOf('/') + 1)
    const directoryName = name === '' ? undefined : name
    const parsed = parseSkill(bytes, defined({ directoryName, policy: reading }))
    if (!parsed.ok) return undefined
    const { location, directory } = entry
    const place = { source: label, location, skillFile: file.path, ...defined({ directory }) }
    return createSkill(parsed.value, files, place, parsed.diagnostics, this.#hasher)
  }
}

function markOf(origin: string): string {
  return JSON.stringify(['known', origin])
}

function earlierOf(origin: string, location: string): string {
  return JSON.stringify(['earlier', origin, location])
}

function pinOf(origin: string, location: string): string {
  return JSON.stringify(['pinned', origin, location])
}

function refOf(origin: string, location: string): string {
  return JSON.stringify(['last-good', origin, location])
}
