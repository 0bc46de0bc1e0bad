import { SkillError } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { type Clock, type Hasher, portableHasher, systemClock } from '../host.ts'
import { isError } from '../skill/diagnostic.ts'
import { type Digest, digestOf, shortDigest } from '../skill/digest.ts'
import { DEFAULT_LIMITS } from '../skill/limits.ts'
import { isLeftOut } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { Skill } from '../skill/skill.ts'
import { parseSkillPath, type SkillPath } from '../skill/skill-path.ts'
import { reviewSkill } from './review-skill.ts'
import { findNameFault, RESERVED_WORDS, type WritableNames } from './skill-name-rule.ts'
import { InProcessWriteLock, type WriteLock } from './write-lock.ts'

/** The folder that is written to. */
export interface WritableLayer {
  /** Label of its source. */
  readonly label: string
  readonly fileSystem: WritableFileSystem
  /** Absolute, without a slash at its end. */
  readonly root: string
}

/** What a writer needs of the runtime. */
export interface AuthoringHost {
  find(name: string): Skill | undefined
  readFile(skill: Skill, path: string): Promise<Uint8Array>
  /** Looks at the folder of a skill again; resolves with why its newest text cannot be served, if it cannot. */
  reloadSkill(name: string): Promise<readonly string[]>
  /** Looks at everything again; resolves with how many skills are served, and what went wrong. */
  reload(): Promise<{ readonly count: number; readonly errors: readonly string[] }>
}

export interface SkillWriterOptions {
  /** Keeps writers apart; one that other processes respect, too, when they write to the same folder. @default within this process */
  readonly lock?: WriteLock
  /** @default 'strict' */
  readonly names?: WritableNames
  /** Words that no name may have between its hyphens. @default RESERVED_WORDS */
  readonly reservedNames?: readonly string[]
  /** Whether what was written is live at once, or when somebody reloads. @default 'reload' */
  readonly afterWrite?: 'reload' | 'none'
  readonly hasher?: Hasher
  readonly clock?: Clock
}

export interface WriteRequest {
  readonly skill: string
  /** Relative to the skill's folder, `/`-separated. */
  readonly path: string
  readonly content: string | Uint8Array
  /**
   * Digest of the file as the writer knows it, whole or its first eight digits and more; `none` when there must not be
   * one. Without it the file is replaced whatever it is.
   */
  readonly baseDigest?: string
  /** @default as it was, false for a new file */
  readonly isExecutable?: boolean
}

export interface WriteResult {
  /** Absolute path of the file. */
  readonly path: string
  readonly digest: Digest
  readonly isNew: boolean
  /** The skill was only in a read-only source: its other files were copied over first. */
  readonly isCopiedUp: boolean
  /** Why the skill is not live as it was written; empty when it is, or nothing was reloaded. */
  readonly errors: readonly string[]
  /** What could be better about it. */
  readonly advice: readonly string[]
}

const SKILL_FILE = 'SKILL.md'
const TRASH = '.trash'
const encoder = new TextEncoder()

/**
 * Writes skills into one folder, whole files at a time, and nothing that would not be a skill. Skills of other sources
 * are copied there before they are changed; removed ones are put aside, not deleted.
 */
export class SkillWriter {
  readonly #layer: WritableLayer
  readonly #host: AuthoringHost
  readonly #options: Required<Omit<SkillWriterOptions, 'lock'>>
  readonly #lock: WriteLock

  /** Made by `SkillRuntime.writer`. */
  constructor(layer: WritableLayer, host: AuthoringHost, options: SkillWriterOptions = {}) {
    this.#layer = layer
    this.#host = host
    this.#lock = options.lock ?? new InProcessWriteLock()
    this.#options = {
      names: options.names ?? 'strict',
      reservedNames: options.reservedNames ?? RESERVED_WORDS,
      afterWrite: options.afterWrite ?? 'reload',
      hasher: options.hasher ?? portableHasher,
      clock: options.clock ?? systemClock,
    }
  }

  /**
   * Writes one file of a skill, which need not exist yet.
   * @throws {SkillError} INVALID_NAME, INVALID_PATH, SKILL_INVALID (nothing is written that could not be served),
   * TOO_LARGE, CHANGED_SINCE_READ, OUTSIDE_ROOT, IO_FAILED
   */
  async write(request: WriteRequest): Promise<WriteResult> {
    const { skill: name } = request
    this.#checkName(name)
    const path = checkPath(request.path)
    const bytes = typeof request.content === 'string' ? encoder.encode(request.content) : request.content
    const advice = this.#checkContent(name, path, bytes)
    const written = await this.#lock.run(() => this.#writeFile(request, path, bytes))
    const errors = this.#options.afterWrite === 'reload' ? await this.#host.reloadSkill(name) : []
    return { ...written, errors, advice }
  }

  /**
   * Puts a skill aside, into a folder that no source looks into; returns where it is.
   * @throws {SkillError} SKILL_NOT_FOUND, READ_ONLY when it is in another source
   */
  async quarantine(name: string): Promise<string> {
    const path = await this.#lock.run(async () => {
      const skill = this.#host.find(name)
      if (skill === undefined)
        throw new SkillError('SKILL_NOT_FOUND', `there is no skill ${JSON.stringify(name)}`)
      if (skill.source !== this.#layer.label) {
        throw new SkillError(
          'READ_ONLY',
          `${JSON.stringify(name)} is in the source ${JSON.stringify(skill.source)}, which is not written to`,
        )
      }
      const { root, fileSystem } = this.#layer
      const when = new Date(this.#options.clock.now()).toISOString().replaceAll(/[:.]/g, '-')
      const target = `${root}/${TRASH}/${name}-${when}`
      await fileSystem.move(`${root}/${skill.location}`, target, { inside: root })
      return target
    })
    if (this.#options.afterWrite === 'reload') await this.#host.reloadSkill(name)
    return path
  }

  /** Looks at all sources again, read-only ones included. */
  async reload(): Promise<{ readonly count: number; readonly errors: readonly string[] }> {
    return await this.#host.reload()
  }

  #checkName(name: string): void {
    const fault = findNameFault(name, this.#options.names, this.#options.reservedNames)
    if (fault !== undefined)
      throw new SkillError('INVALID_NAME', `skill name ${JSON.stringify(name)} ${fault}`, { data: { name } })
  }

  /** What is no skill is not written; what is one may still be improved. */
  #checkContent(name: string, path: SkillPath, bytes: Uint8Array): readonly string[] {
    const { maxFolderBytes } = DEFAULT_LIMITS
    if (bytes.length > maxFolderBytes)
      throw new SkillError(
        'TOO_LARGE',
        `the file has ${bytes.length} bytes; at most ${maxFolderBytes} are read`,
      )
    const files = (this.#host.find(name)?.files ?? []).map(file => file.path)
    if (path !== SKILL_FILE) return path.split('/').length > 2 ? [`keep files one level below the skill`] : []
    if (bytes.length === 0)
      throw new SkillError('SKILL_INVALID', 'SKILL.md is empty; write frontmatter and instructions')
    const parsed = parseSkill(bytes, { directoryName: name })
    const found = parsed.diagnostics.filter(
      diagnostic => isError(diagnostic) || diagnostic.code === 'NAME_DIRECTORY_MISMATCH',
    )
    if (parsed.ok && found.length === 0) return reviewSkill(parsed.value, files)
    const reasons = found.map(
      ({ message, line, fix }) => `line ${line ?? 1}: ${message}; ${fix ?? 'correct it'}`,
    )
    throw new SkillError('SKILL_INVALID', `SKILL.md was not written. ${reasons.join('. ')}`, {
      data: { diagnostics: found },
    })
  }

  async #writeFile(
    request: WriteRequest,
    path: SkillPath,
    bytes: Uint8Array,
  ): Promise<Pick<WriteResult, 'path' | 'digest' | 'isNew' | 'isCopiedUp'>> {
    const { fileSystem, root } = this.#layer
    const served = this.#host.find(request.skill)
    const isElsewhere = served !== undefined && served.source !== this.#layer.label
    const location = served === undefined || isElsewhere ? request.skill : served.location
    const folder = location === '' ? root : `${root}/${location}`
    const target = `${folder}/${path}`
    const before =
      (await this.#read(target)) ?? (isElsewhere ? served.files.find(file => file.path === path) : undefined)
    this.#checkBase(request, before?.digest)
    const isCopiedUp = isElsewhere && (await this.#copyUp(served, folder))
    const isExecutable = request.isExecutable ?? before?.isExecutable ?? false
    await fileSystem.write(target, bytes, { inside: root, isExecutable })
    const digest = digestOf(bytes, this.#options.hasher)
    return { path: target, digest, isNew: before === undefined, isCopiedUp }
  }

  async #read(target: string): Promise<{ digest: Digest; isExecutable: boolean } | undefined> {
    const { fileSystem, root } = this.#layer
    try {
      const inside = [await fileSystem.resolve(root)]
      const { bytes, stat } = await fileSystem.read(target, {
        inside,
        maxBytes: DEFAULT_LIMITS.maxFolderBytes,
      })
      return { digest: digestOf(bytes, this.#options.hasher), isExecutable: stat.isExecutable }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
      throw thrown
    }
  }

  /** Copies a skill of a read-only source, first aside and then into its place as a whole. */
  async #copyUp(skill: Skill, folder: string): Promise<boolean> {
    const { fileSystem, root } = this.#layer
    const isThere = await fileSystem.stat(folder).then(
      () => true,
      () => false,
    )
    if (isThere) return false
    const stage = `${root}/.tmp-${skill.name}-${shortDigest(skill.revision)}-${Math.floor(this.#options.clock.random() * 1e9)}`
    for (const { path, isExecutable } of skill.files) {
      const bytes = await this.#host.readFile(skill, path)
      await fileSystem.write(`${stage}/${path}`, bytes, { inside: root, isExecutable })
    }
    await fileSystem.move(stage, folder, { inside: root })
    return true
  }

  #checkBase({ baseDigest, path, skill }: WriteRequest, actual: Digest | undefined): void {
    if (baseDigest === undefined) return
    const wanted = baseDigest.replace(/^sha256:/, '').toLowerCase()
    const isSame =
      wanted === 'none'
        ? actual === undefined
        : /^[0-9a-f]{8,64}$/.test(wanted) && (actual?.slice(7).startsWith(wanted) ?? false)
    if (isSame) return
    const now = actual === undefined ? 'there is no such file' : `it is now ${shortDigest(actual)}`
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `${JSON.stringify(path)} of ${JSON.stringify(skill)} is not at ${JSON.stringify(baseDigest)}: ${now}; read it again and decide anew`,
      { data: { expected: baseDigest, actual } },
    )
  }
}

function checkPath(text: string): SkillPath {
  const path = parseSkillPath(text.replace(/^\.\//, ''))
  const segments = path.split('/')
  const left = segments.find((segment, index) => isLeftOut(segment, segments[index - 1] ?? ''))
  if (left === undefined) return path
  throw new SkillError(
    'INVALID_PATH',
    `path ${JSON.stringify(text)} has ${JSON.stringify(left)}, which never belongs to a skill`,
  )
}
