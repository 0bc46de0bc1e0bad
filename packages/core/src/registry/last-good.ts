import type { Hasher } from '../host.ts'
import type { Digest } from '../skill/digest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import { createSkill, type Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'

/** Remembers in the store which revision of a folder was served last, so that a restart can serve it again. */
export class LastGood {
  readonly #store: SkillStore
  readonly #hasher: Hasher

  constructor(store: SkillStore, hasher: Hasher) {
    this.#store = store
    this.#hasher = hasher
  }

  remember(origin: string, location: string, revision: Digest | undefined): void {
    this.#store.setRef(refOf(origin, location), revision)
  }

  /** The skill that was served last from a folder, rebuilt from the store; `undefined` when it is not there any more. */
  async read(origin: string, label: string, entry: SourceEntry): Promise<Skill | undefined> {
    const revision = this.#store.getRef(refOf(origin, entry.location))
    const files = revision === undefined ? undefined : await this.#store.getTree(revision)
    const file =
      files?.find(each => each.path === 'SKILL.md') ?? files?.find(each => each.path === 'skill.md')
    const bytes = file === undefined ? undefined : await this.#store.get(file.digest)
    if (files === undefined || file === undefined || bytes === undefined) return undefined
    const directoryName = entry.location.slice(entry.location.lastIndexOf('/') + 1)
    const parsed = parseSkill(bytes, directoryName === '' ? {} : { directoryName })
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

function refOf(origin: string, location: string): string {
  return JSON.stringify(['last-good', origin, location])
}
