import { defined } from '../defined.ts'
import { SkillError, unlessFailed } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { quote } from '../quote.ts'
import { type Digest, digestOf, shortDigest } from '../skill/digest.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import { listFolder } from './list-folder.ts'
import type { SkillWriteRequest, SkillWriterParts } from './skill-write.ts'

/** The writable folder of a source, with the rules of that source. */
export interface WritableLayer {
  /** Label of its source. */
  readonly label: string
  /** Origin of its source. */
  readonly origin: string
  readonly fileSystem: WritableFileSystem
  /** Absolute path of the folder, without a slash at the end. */
  readonly root: string
  /** Allowed file names for the text of a skill. The first name is preferred. */
  readonly fileNames: readonly string[]
  /** The rules by which the source reads the texts of skills. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
  /** @default DEFAULT_LIMITS */
  readonly limits?: SkillLimits
  /** Returns true if the source ignores folders of this name. @default always false */
  isSkipped?(name: string): boolean
}

/** A folder, and the skill that a writer expects in this folder. */
export interface ExpectedFolder {
  readonly name: string
  readonly folder: string
  /** Path of the folder within the source. */
  readonly location: string
  readonly skillFile: string
  /** True if the text of the skill must exist. */
  readonly isThere: boolean
  /** Digest of the text that was read last; absent if that text was broken. */
  readonly known?: Digest | undefined
}

/** Reads the files of the writable folder, and checks that their digests match those that a writer expects. */
export class LayerFiles {
  readonly #layer: WritableLayer
  readonly #parts: Pick<SkillWriterParts, 'reader' | 'hasher' | 'clock'>

  constructor(layer: WritableLayer, parts: Pick<SkillWriterParts, 'reader' | 'hasher' | 'clock'>) {
    this.#layer = layer
    this.#parts = parts
  }

  /** Checks that no file of a skill changed since the skill was read. @throws {SkillError} CHANGED_SINCE_READ */
  async checkFolder(folder: string, { name, files }: Skill): Promise<void> {
    for (const { path, digest } of files) {
      const actual = (await this.read(`${folder}/${path}`))?.digest
      this.checkBase({ baseDigest: digest, path, skill: name }, actual)
    }
  }

  /**
   * Checks that a folder still contains the expected skill. Folders may be renamed or exchanged while a write waits for
   * the lock. The text in the folder must name the skill, or equal the text that was read last. A broken text has no
   * name, so a broken text is accepted only if the text that was read last was also broken.
   * @throws {SkillError} SKILL_NOT_FOUND when the folder or its text is gone; CHANGED_SINCE_READ when the folder contains another
   * skill
   */
  async checkSkill({ name, folder, location, skillFile, isThere, known }: ExpectedFolder): Promise<void> {
    const text = await this.read(`${folder}/${skillFile}`)
    if (text === undefined) {
      if (isThere) throw await this.describeGone({ name, folder, skillFile })
      return
    }
    if (text.digest === known) return
    const { reading, limits } = this.#layer
    const directoryName = location.slice(location.lastIndexOf('/') + 1)
    const parsed = parseSkill(
      text.bytes,
      defined({ directoryName: directoryName === '' ? undefined : directoryName, policy: reading, limits }),
    )
    if (parsed.ok ? parsed.value.name === name : known === undefined) return
    const found = parsed.ok ? `now holds the skill ${quote(parsed.value.name)}` : 'has changed'
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `the folder ${quote(folder)} of ${quote(name)} ${found}; nothing was changed; read the skill again before you retry`,
      { data: { name, folder } },
    )
  }

  /** Returns the error for a skill whose folder, or only its skill file, no longer exists. */
  async describeGone({
    name,
    folder,
    skillFile,
  }: Pick<ExpectedFolder, 'name' | 'folder' | 'skillFile'>): Promise<SkillError> {
    if ((await listFolder(this.#layer.fileSystem, folder)) === undefined) return createGone(name)
    const message = `the file ${quote(`${folder}/${skillFile}`)} of ${quote(name)} is missing; nothing was changed; restore the file, or retry after its author has saved it`
    return new SkillError('SKILL_NOT_FOUND', message, { data: { name, folder } })
  }

  /** Reads a file of the writable folder. Returns `undefined` if the file does not exist. */
  async read(
    target: string,
  ): Promise<{ bytes: Uint8Array; digest: Digest; isExecutable: boolean } | undefined> {
    const { fileSystem, root } = this.#layer
    const { maxFolderBytes: maxBytes } = this.#layer.limits ?? DEFAULT_LIMITS
    return await unlessFailed(async () => {
      const inside = [await fileSystem.resolve(root)]
      const { bytes, stat } = await fileSystem.read(target, { inside, maxBytes })
      return { bytes, digest: digestOf(bytes, this.#parts.hasher), isExecutable: stat.isExecutable }
    }, 'NOT_FOUND')
  }

  /**
   * Checks that a file has the digest that its writer expects. @throws {SkillError} CHANGED_SINCE_READ, INVALID_OPTION
   */
  checkBase(
    { baseDigest, path, skill }: Pick<SkillWriteRequest, 'skill' | 'path' | 'baseDigest'>,
    actual: Digest | undefined,
  ): void {
    if (baseDigest === undefined) return
    const wanted = baseDigest.replace(/^sha256:/, '').toLowerCase()
    if (!/^(?:none|[0-9a-f]{8,64})$/.test(wanted)) {
      throw new SkillError(
        'INVALID_OPTION',
        `the base digest is ${quote(baseDigest)}; use eight or more hexadecimal digits of the file's digest, or "none"`,
      )
    }
    const isSame = wanted === 'none' ? actual === undefined : (actual?.slice(7).startsWith(wanted) ?? false)
    if (isSame) return
    const now = actual === undefined ? 'there is no such file' : `it is now ${shortDigest(actual)}`
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `${quote(path)} of ${quote(skill)} is not at ${quote(baseDigest)}: ${now}; read it again before you retry`,
      { data: { expected: baseDigest, actual } },
    )
  }

  /**
   * Copies a skill of a read-only source to a folder. If the folder does not exist, makes a complete copy and moves the
   * copy to the path of the folder. If the folder exists but has no skill text, copies only the missing files. Copies
   * the skill text last. Returns true if a file was copied.
   */
  async copyUp(skill: Skill, folder: string): Promise<boolean> {
    const { fileSystem, root } = this.#layer
    const entries = await listFolder(fileSystem, folder)
    if (entries?.some(({ name }) => name === skill.skillFile) === true) return false
    if (entries !== undefined) {
      await this.#copy(skill, folder)
      return true
    }
    const suffix = Math.floor(this.#parts.clock.random() * 1e9)
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
      await fileSystem.write(target, await this.#parts.reader.readFile(skill, path), {
        inside: root,
        isExecutable,
      })
    }
  }
}

/** Returns the absolute path of a skill's folder. A single-file skill is in the root. */
export function folderIn(
  { root }: Pick<WritableLayer, 'root'>,
  { location, skillFile }: Pick<Skill, 'location' | 'skillFile'>,
): string {
  return location === '' || location === skillFile ? root : `${root}/${location}`
}

/** Returns the error for an operation on a skill whose folder no longer exists. */
export function createGone(name: string, cause?: unknown): SkillError {
  const message = `the folder of ${quote(name)} no longer exists; list the skills again before you retry`
  return new SkillError('SKILL_NOT_FOUND', message, { cause, data: { name } })
}
