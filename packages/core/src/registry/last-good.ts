import type { Hasher } from '../host.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { createSkill, type Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'

/** What has to be known of a source to read a revision as it would. */
export interface LastGoodSource {
  readonly label: string
  readonly origin: string
  readonly reading?: Partial<ReadingPolicy>
}

/** What a folder served. */
export interface ServedRevisions {
  readonly last: Digest | undefined
  /** The one before that: it is served again when the last one is not wanted any more. */
  readonly earlier: Digest | undefined
}

const NAMES_PER_SLICE = 500

export const NOTHING_SERVED: ServedRevisions = Object.freeze({ last: undefined, earlier: undefined })

/** Remembers in the store which revision of a folder was served last, so that a restart can serve it again. */
export class LastGood {
  readonly #store: SkillStore
  readonly #hasher: Hasher
  /** The names of one source, while many of its folders are looked up. */
  #ahead: { readonly origin: string; readonly refs: Map<string, Digest> } | undefined

  constructor(store: SkillStore, hasher: Hasher) {
    this.#store = store
    this.#hasher = hasher
  }

  /** Looks up many folders of a source at once, until `endLookUp`; `pause` is called now and then. */
  async beginLookUp(origin: string, pause: () => Promise<void>): Promise<void> {
    const store = this.#store
    if (store.listRefs === undefined) return
    const refs = new Map<string, Digest>()
    for (const toName of [refOf, earlierOf])
      for (const [name, revision] of store.listRefs(beginningOf(toName(origin, '')))) {
        refs.set(name, revision)
        if (refs.size % NAMES_PER_SLICE === 0) await pause()
      }
    this.#ahead = { origin, refs }
  }

  endLookUp(): void {
    this.#ahead = undefined
  }

  /** Notes what a folder served last, and before that. */
  remember(origin: string, location: string, { last, earlier }: ServedRevisions): void {
    this.#set(origin, refOf(origin, location), last)
    this.#set(origin, earlierOf(origin, location), earlier)
  }

  #set(origin: string, name: string, revision: Digest | undefined): void {
    this.#store.setRef(name, revision)
    if (this.#ahead?.origin !== origin) return
    if (revision === undefined) this.#ahead.refs.delete(name)
    else this.#ahead.refs.set(name, revision)
  }

  find(origin: string, location: string): ServedRevisions {
    return {
      last: this.#look(origin, refOf(origin, location)),
      earlier: this.#look(origin, earlierOf(origin, location)),
    }
  }

  #look(origin: string, name: string): Digest | undefined {
    return this.#ahead?.origin === origin ? this.#ahead.refs.get(name) : this.#store.getRef(name)
  }

  /** Keeps what a pin serves from being collected, beside what was served before it. */
  keepPinned(origin: string, location: string, revision: Digest | undefined): void {
    this.#store.setRef(pinOf(origin, location), revision)
  }

  /** Whether a source was shown before, whatever it had then. */
  isKnown(origin: string): boolean {
    return this.#store.getRef(markOf(origin)) !== undefined
  }

  markKnown(origin: string): void {
    // Any digest says it; that of nothing needs nothing to be kept.
    if (!this.isKnown(origin)) this.#store.setRef(markOf(origin), digestOf(new Uint8Array(), this.#hasher))
  }

  /** Whether another revision of a folder was served last than the one that is there. */
  isOther({ origin }: LastGoodSource, { location, skill }: SourceEntry): boolean {
    const revision = this.#look(origin, refOf(origin, location))
    return revision !== undefined && revision !== skill?.revision
  }

  /** Whether a revision was served last from a folder. */
  isLast(origin: string, location: string, revision: Digest): boolean {
    return this.#look(origin, refOf(origin, location)) === revision
  }

  /** Any stored revision of a folder as a skill. */
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
    const directoryName = entry.location.slice(entry.location.lastIndexOf('/') + 1)
    const parsed = parseSkill(bytes, {
      ...(directoryName === '' ? {} : { directoryName }),
      ...(reading === undefined ? {} : { policy: reading }),
    })
    if (!parsed.ok) return undefined
    const place = {
      source: label,
      location: entry.location,
      skillFile: file.path,
      ...(entry.directory === undefined ? {} : { directory: entry.directory }),
    }
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

/** What the names of all folders of a source begin with, given that of its root. */
function beginningOf(name: string): string {
  return name.slice(0, -'"]'.length)
}

function refOf(origin: string, location: string): string {
  return JSON.stringify(['last-good', origin, location])
}
