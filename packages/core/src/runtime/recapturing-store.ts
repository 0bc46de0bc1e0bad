import type { Generation } from '../registry/generation.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore, StoreFault } from '../store/skill-store.ts'

/** What a store that has lost bytes needs to get them again. */
export interface RecaptureHost {
  current(): Generation
  /** Reads the folder of a skill again and stores all of it; resolves when that is done. */
  recapture(skill: Skill): Promise<void>
}

/**
 * A store for readers: bytes of what is served that the store has lost, by damage or because somebody removed them, are
 * captured again from their source, once. Not for those who write the store or the registry: they would wait for themselves.
 */
export class RecapturingStore implements SkillStore {
  readonly #store: SkillStore
  readonly #host: RecaptureHost

  constructor(store: SkillStore, host: RecaptureHost) {
    this.#store = store
    this.#host = host
  }

  get fault(): StoreFault | undefined {
    return this.#store.fault
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    const bytes = await this.#store.get(digest)
    if (bytes !== undefined) return bytes
    const holders = this.#host
      .current()
      .list()
      .filter(({ files }) => files.some(file => file.digest === digest))
    for (const skill of holders) {
      await this.#host.recapture(skill)
      const captured = await this.#store.get(digest)
      if (captured === undefined) continue
      this.#store.putTree(skill.revision, skill.files)
      return captured
    }
    return undefined
  }

  has(digest: Digest): boolean {
    return this.#store.has(digest)
  }

  put(digest: Digest, bytes: Uint8Array, locator?: string): void {
    this.#store.put(digest, bytes, locator)
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    this.#store.putTree(revision, files)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    return await this.#store.getTree(revision)
  }

  retain(revision: Digest): void {
    this.#store.retain(revision)
  }

  release(revision: Digest): void {
    this.#store.release(revision)
  }

  setRef(name: string, revision: Digest | undefined): void {
    this.#store.setRef(name, revision)
  }

  getRef(name: string): Digest | undefined {
    return this.#store.getRef(name)
  }

  async flush(): Promise<void> {
    await this.#store.flush()
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}
