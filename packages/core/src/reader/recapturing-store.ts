import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { SourceReaders } from '../sync/source-readers.ts'

/**
 * The stored files, for readers. If bytes of a skill are missing, `get` and `complete` read them from their source and
 * store them. Bytes are missing if the store lost them, or if the source retrieves files when they are first needed.
 * Code that writes to the registry must use the store itself. Otherwise the code would wait for a source, and the source
 * would wait for the code.
 */
export class RecapturingStore {
  readonly #store: SkillStore
  readonly #registry: SkillRegistry
  readonly #sources: SourceReaders

  constructor(store: SkillStore, registry: SkillRegistry, sources: SourceReaders) {
    this.#store = store
    this.#registry = registry
    this.#sources = sources
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    const bytes = await this.#store.get(digest)
    if (bytes !== undefined) return bytes
    for (const skill of this.#registry.listKnown()) {
      if (!skill.files.some(file => file.digest === digest)) continue
      await this.#recapture(skill)
      const captured = await this.#store.get(digest)
      if (captured !== undefined) return captured
    }
    return undefined
  }

  /** Ensures that all files of a revision are stored. Returns whether they are. */
  async complete({ revision, files }: Pick<Skill, 'revision' | 'files'>): Promise<boolean> {
    if (this.hasAll(files)) return true
    for (const skill of this.#registry.listKnown())
      if (skill.revision === revision && (await this.#recapture(skill))) return true
    return false
  }

  /** Returns whether all files of the skill are stored afterwards. */
  async #recapture(skill: Skill): Promise<boolean> {
    await this.#sources.recapture(skill)
    this.#sources.assertOpen()
    if (!this.hasAll(skill.files)) return false
    this.#store.putTree(skill.revision, skill.files)
    return true
  }

  hasAll(files: readonly SkillFile[]): boolean {
    return files.every(({ digest }) => this.#store.has(digest))
  }

  has(digest: Digest): boolean {
    return this.#store.has(digest)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    return await this.#store.getTree(revision)
  }
}
