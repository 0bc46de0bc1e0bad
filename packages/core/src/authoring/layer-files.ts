import { SkillError } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import type { Clock, Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { type Digest, digestOf, shortDigest } from '../skill/digest.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'

/** The folder that is written to. */
export interface WritableLayer {
  /** Label of its source. */
  readonly label: string
  /** Origin of its source. */
  readonly origin: string
  readonly fileSystem: WritableFileSystem
  /** Absolute, without a slash at its end. */
  readonly root: string
  /** What the text of a skill may be called there, best name first. */
  readonly fileNames: readonly string[]
  /** How forgiving its texts are read. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
  /** @default DEFAULT_LIMITS */
  readonly limits?: SkillLimits
  /** Whether the source looks for no skill in a folder of this name. @default in none */
  isSkipped?(name: string): boolean
}

/** A folder, and the skill that it is expected to hold. */
export interface ExpectedFolder {
  readonly name: string
  readonly folder: string
  /** The folder within the source. */
  readonly location: string
  readonly skillFile: string
  /** Whether the text of the skill has to be there. */
  readonly isThere: boolean
  /** Digest of that text as it was read last; absent when it was broken. */
  readonly known?: Digest | undefined
}

/** A file, and the digest at which its writer knows it. */
export interface BaseCheck {
  readonly skill: string
  readonly path: string
  /** Eight or more digits, or `none` when there must not be a file. @default any */
  readonly baseDigest?: string
}

export interface LayerFilesOptions {
  readonly reader: SkillReader
  readonly hasher: Hasher
  readonly clock: Clock
}

/** Reads the files of the folder that is written to, and checks that they are what a writer believes them to be. */
export class LayerFiles {
  readonly #layer: WritableLayer
  readonly #reader: SkillReader
  readonly #hasher: Hasher
  readonly #clock: Clock

  constructor(layer: WritableLayer, { reader, hasher, clock }: LayerFilesOptions) {
    this.#layer = layer
    this.#reader = reader
    this.#hasher = hasher
    this.#clock = clock
  }

  /** Checks that every file of a skill is as it was read. @throws {SkillError} CHANGED_SINCE_READ */
  async checkFolder(folder: string, { name, files }: Skill): Promise<void> {
    for (const { path, digest } of files) {
      const actual = (await this.read(`${folder}/${path}`))?.digest
      this.checkBase({ baseDigest: digest, path, skill: name }, actual)
    }
  }

  /**
   * Checks that a folder still holds the skill: by its name, or because its text is as it was read last. Folders are renamed
   * and exchanged while a write waits for its turn. A broken text has no name, and may replace a broken text only.
   * @throws {SkillError} SKILL_NOT_FOUND when the folder is gone; CHANGED_SINCE_READ when it holds another skill
   */
  async checkSkill({ name, folder, location, skillFile, isThere, known }: ExpectedFolder): Promise<void> {
    const text = await this.read(`${folder}/${skillFile}`)
    if (text === undefined) {
      if (isThere) throw createGone(name)
      return
    }
    if (text.digest === known) return
    const { reading, limits } = this.#layer
    const directoryName = location.slice(location.lastIndexOf('/') + 1)
    const parsed = parseSkill(text.bytes, {
      ...(directoryName === '' ? {} : { directoryName }),
      ...(reading === undefined ? {} : { policy: reading }),
      ...(limits === undefined ? {} : { limits }),
    })
    if (parsed.ok ? parsed.value.name === name : known === undefined) return
    const found = parsed.ok ? `now holds the skill ${JSON.stringify(parsed.value.name)}` : 'has changed'
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `the folder ${JSON.stringify(folder)} of ${JSON.stringify(name)} ${found}; nothing was done, so read the skill again and decide anew`,
      { data: { name, folder } },
    )
  }

  /** Reads a file of the layer; `undefined` when it is not there. */
  async read(
    target: string,
  ): Promise<{ bytes: Uint8Array; digest: Digest; isExecutable: boolean } | undefined> {
    const { fileSystem, root } = this.#layer
    try {
      const inside = [await fileSystem.resolve(root)]
      const { bytes, stat } = await fileSystem.read(target, {
        inside,
        maxBytes: (this.#layer.limits ?? DEFAULT_LIMITS).maxFolderBytes,
      })
      return { bytes, digest: digestOf(bytes, this.#hasher), isExecutable: stat.isExecutable }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
      throw thrown
    }
  }

  /** Checks that a file is at the digest that its writer knows. @throws {SkillError} CHANGED_SINCE_READ, INVALID_OPTION */
  checkBase({ baseDigest, path, skill }: BaseCheck, actual: Digest | undefined): void {
    if (baseDigest === undefined) return
    const wanted = baseDigest.replace(/^sha256:/, '').toLowerCase()
    if (!/^(?:none|[0-9a-f]{8,64})$/.test(wanted)) {
      throw new SkillError(
        'INVALID_OPTION',
        `the base digest is ${JSON.stringify(baseDigest)}; use eight or more hexadecimal digits of the file's digest, or "none"`,
      )
    }
    const isSame = wanted === 'none' ? actual === undefined : (actual?.slice(7).startsWith(wanted) ?? false)
    if (isSame) return
    const now = actual === undefined ? 'there is no such file' : `it is now ${shortDigest(actual)}`
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `${JSON.stringify(path)} of ${JSON.stringify(skill)} is not at ${JSON.stringify(baseDigest)}: ${now}; read it again and decide anew`,
      { data: { expected: baseDigest, actual } },
    )
  }
  /** `undefined` when there is no such folder. */
  async #namesIn(folder: string): Promise<readonly string[] | undefined> {
    try {
      return (await this.#layer.fileSystem.list(folder)).map(({ name }) => name)
    } catch {
      return undefined
    }
  }

  /**
   * Copies a skill of a read-only source. A new folder appears as a whole; a folder that is there and is no skill yet gets the
   * files that it lacks, the text last. Returns whether anything was copied.
   */
  async copyUp(skill: Skill, folder: string): Promise<boolean> {
    const { fileSystem, root } = this.#layer
    const names = await this.#namesIn(folder)
    if (names?.includes(skill.skillFile) === true) return false
    if (names !== undefined) {
      await this.#copy(skill, folder)
      return true
    }
    const suffix = Math.floor(this.#clock.random() * 1e9)
    const stage = `${root}/.tmp-${skill.name}-${shortDigest(skill.revision)}-${suffix}`
    try {
      await this.#copy(skill, stage)
      await fileSystem.move(stage, folder, { inside: root })
    } catch (thrown) {
      await fileSystem.remove(stage, { inside: root })
      throw thrown
    }
    return true
  }

  async #copy(skill: Skill, folder: string): Promise<void> {
    const { fileSystem, root } = this.#layer
    const textLast = [...skill.files].sort(
      (a, b) => Number(a.path === skill.skillFile) - Number(b.path === skill.skillFile),
    )
    for (const { path, isExecutable } of textLast) {
      const target = `${folder}/${path}`
      if ((await this.read(target)) !== undefined) continue
      await fileSystem.write(target, await this.#reader.readFile(skill, path), {
        inside: root,
        isExecutable,
      })
    }
  }
}

/** The error for a skill whose folder went away while it was to be changed. */
export function createGone(name: string, cause?: unknown): SkillError {
  const message = `the folder of ${JSON.stringify(name)} is not there any more; look at the skills again and decide anew`
  return new SkillError('SKILL_NOT_FOUND', message, { cause, data: { name } })
}
