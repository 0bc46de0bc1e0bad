import { checkChoice, SkillError } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { type Clock, type Hasher, portableHasher, systemClock } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { type Digest, digestOf, shortDigest } from '../skill/digest.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { isLeftOut, type SkillFile } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import { isLoadableName } from '../skill/skill-name.ts'
import { parseSkillPath, type SkillPath } from '../skill/skill-path.ts'
import { checkWrite } from './check-write.ts'
import { type FolderFile, replaceFolder } from './folder-swap.ts'
import { findNameFault, RESERVED_WORDS, WRITABLE_NAMES, type WritableNames } from './skill-name-rule.ts'
import { InProcessWriteLock, type WriteLock } from './write-lock.ts'

/** The folder that is written to. */
export interface WritableLayer {
  /** Label of its source. */
  readonly label: string
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

/** What a writer needs of the runtime. */
export interface AuthoringHost {
  /** Resolves when what was on the disk before the call is known, as far as a name goes. */
  look(name: string): Promise<void>
  /** The served skill. */
  find(name: string): Skill | undefined
  /** The newest text of a skill in the source that is written to, served or not; `undefined` when it is broken. */
  findOwn(name: string): Skill | undefined
  /** The newest text of a folder of that source; `undefined` when it is broken, or no folder of a skill. */
  findNewest(location: string): Skill | undefined
  readFile(skill: Skill, path: string): Promise<Uint8Array>
  /** Looks at the folder of a skill again. */
  reloadSkill(name: string): Promise<ReloadedSkill>
  /** Notes what an agent is about to write, so that it is held until somebody approves; absent when it goes live. */
  noteWrite?(write: NotedWrite): Promise<void>
  /** Looks at everything again; tells what a conversation sees of it, if one is named. */
  reload(conversation?: string): Promise<ReloadedSkills>
}

/** What came of a folder that was looked at again. */
export interface ReloadedSkill {
  /** Why its newest text cannot be served; empty when it can. */
  readonly errors: readonly string[]
  /** Whether its newest text waits for approval. */
  readonly isHeld: boolean
}

export interface NotedWrite {
  /** The folder of the skill within the source that is written to. */
  readonly location: string
  readonly path: string
  readonly digest: Digest
  readonly author: AgentAuthor
}

/** An agent that writes. */
export interface AgentAuthor {
  /** For people, in the history of the skill. @default 'an agent' */
  readonly name?: string
  /** The conversation in which it writes, where what it wrote is live at once. */
  readonly conversation?: string
}

/** What there is after everything was looked at again. */
export interface ReloadedSkills {
  /** The served skills. */
  readonly names: readonly string[]
  /** What could not be made live; `skill` is missing when a whole source could not be read. */
  readonly errors: readonly { readonly skill?: string; readonly message: string }[]
}

const AFTER_WRITE = ['reload', 'none'] as const

export interface SkillWriterOptions {
  /** Keeps writers apart; one that other processes respect, too, when they write to the same folder. @default within this process */
  readonly lock?: WriteLock
  /** @default 'strict' */
  readonly names?: WritableNames
  /** Words that no name may have between its hyphens. @default RESERVED_WORDS */
  readonly reservedNames?: readonly string[]
  /** Whether what was written is live at once, or when somebody reloads. @default 'reload' */
  readonly afterWrite?: (typeof AFTER_WRITE)[number]
  readonly hasher?: Hasher
  readonly clock?: Clock
}

const KNOWN_OPTIONS: KnownOptions<SkillWriterOptions> = {
  lock: true,
  names: true,
  reservedNames: true,
  afterWrite: true,
  hasher: true,
  clock: true,
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
  /** The agent whose text this is: it is held beyond its conversation. @default none: whoever runs this program */
  readonly agent?: AgentAuthor
}

export interface WriteResult {
  /** Absolute path of the file. */
  readonly path: string
  readonly digest: Digest
  readonly isNew: boolean
  /** The skill was only in a read-only source: its other files were copied over first. */
  readonly isCopiedUp: boolean
  /** Why the skill cannot be served as it was written; empty when it can, or nothing was reloaded. */
  readonly errors: readonly string[]
  /** It waits for approval; in the conversation that wrote it, it is live. */
  readonly isHeld: boolean
  /** What could be better about it. */
  readonly advice: readonly string[]
}

/** A folder, and the skill that it is expected to hold. */
interface ExpectedFolder {
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

/** Where the files of a skill are written. */
interface Place extends ExpectedFolder {
  readonly served: Skill | undefined
  /** Whether it is in a source that is not written to. */
  readonly isElsewhere: boolean
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
    checkOptions('writer()', options, KNOWN_OPTIONS)
    checkChoice('afterWrite', options.afterWrite, AFTER_WRITE)
    if (!(options.names instanceof RegExp)) checkChoice('names', options.names, WRITABLE_NAMES)
    if (options.lock !== undefined && typeof options.lock?.run !== 'function')
      throw new SkillError('INVALID_OPTION', 'lock has no method run(); use openWriteLock()')
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
   * Writes one file of a skill, which need not exist yet. Looks at the skill first, so the file goes where the skill is now.
   * @throws {SkillError} INVALID_NAME, INVALID_PATH, SKILL_INVALID (nothing is written that could not be served),
   * TOO_LARGE, OUTSIDE_ROOT, IO_FAILED; CHANGED_SINCE_READ when the file is not at `baseDigest`, or its folder holds another
   * skill; SKILL_NOT_FOUND when the skill was removed
   */
  async write(request: WriteRequest): Promise<WriteResult> {
    const { skill: name } = request
    const { content } = request
    if (typeof name !== 'string' || typeof request.path !== 'string')
      throw new SkillError('INVALID_OPTION', 'a write needs the texts skill and path')
    if (typeof content !== 'string' && !(content instanceof Uint8Array))
      throw new SkillError('INVALID_OPTION', `content is ${typeof content}; use a text or bytes`)
    await this.#look(name)
    const served = this.#host.find(name)
    this.#checkName(name, served)
    const { place, path } = this.#locate(name, request.path)
    const bytes = typeof request.content === 'string' ? encoder.encode(request.content) : request.content
    const advice = checkWrite({ skill: name, path, bytes, skillFile: place.skillFile }, served, this.#layer)
    const written = await this.#lock.run(() => this.#writeFile({ ...request, path }, place, bytes))
    const { errors, isHeld } =
      this.#options.afterWrite === 'reload' ? await this.#makeLive(name) : { errors: [], isHeld: false }
    return { ...written, errors, isHeld, advice }
  }

  /**
   * Puts the folder of a skill aside, with everything in it, where no source looks; returns where it is.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when its folder holds another skill by now; READ_ONLY when it is in
   * another source, or has no folder of its own
   */
  async quarantine(name: string): Promise<string> {
    await this.#look(name)
    try {
      return await this.#lock.run(() => this.#putAside(name))
    } finally {
      if (this.#options.afterWrite === 'reload') await this.#host.reloadSkill(name)
    }
  }

  /**
   * Makes the folder of a skill what an earlier revision of it was, as a new change; nobody sees a part of it. `present` is
   * what it is believed to be, and absent when its text is broken. Returns where the folder as it was is kept, when it was
   * replaced as a whole.
   * @throws {SkillError} READ_ONLY when it is in another source; CHANGED_SINCE_READ when its folder is not at `present`;
   * REVISION_NOT_FOUND when the old files are no longer stored
   */
  async restore(earlier: Skill, present: Skill | undefined): Promise<string | undefined> {
    try {
      return await this.#lock.run(() => this.#restore(earlier, present))
    } finally {
      await this.#host.reloadSkill(earlier.name)
    }
  }

  /** Looks at all sources again, read-only ones included; tells what a conversation sees, if one is named. */
  async reload(conversation?: string): Promise<ReloadedSkills> {
    return await this.#host.reload(conversation)
  }

  async #putAside(name: string): Promise<string> {
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
    if (skill.location === '' || skill.location === skill.skillFile) {
      const what = skill.location === '' ? 'the folder of the source itself' : 'a single file'
      throw new SkillError('READ_ONLY', `${JSON.stringify(name)} is ${what}; only folders are put aside`)
    }
    const { location, skillFile } = skill
    const folder = `${root}/${location}`
    await this.#checkSkill({ name, folder, location, skillFile, isThere: true, known: this.#known(location) })
    const target = `${root}/${TRASH}/${name}-${this.#timestamp()}`
    try {
      await fileSystem.move(folder, target, { inside: root })
    } catch (thrown) {
      throw SkillError.isInstance(thrown, 'NOT_FOUND') ? createGone(name, thrown) : thrown
    }
    return target
  }

  async #restore(earlier: Skill, present: Skill | undefined): Promise<string | undefined> {
    const { root, fileSystem, label } = this.#layer
    const { name, location, skillFile } = earlier
    if (earlier.source !== label) {
      const shown = JSON.stringify(earlier.source)
      throw new SkillError(
        'READ_ONLY',
        `${JSON.stringify(name)} is in the source ${shown}, which is not written to`,
      )
    }
    const folder = location === '' || location === skillFile ? root : `${root}/${location}`
    if (present === undefined) await this.#checkSkill({ name, folder, location, skillFile, isThere: false })
    else await this.#checkFolder(folder, present)
    const only = present === undefined ? undefined : findOnlyDifference(present, earlier)
    if (only !== undefined) {
      const bytes = await this.#host.readFile(earlier, only.path)
      const { isExecutable } = only
      await fileSystem.write(`${folder}/${only.path}`, bytes, { inside: root, isExecutable })
      return undefined
    }
    if (folder === root) {
      const what = `${JSON.stringify(name)} is the folder of the source itself, or a single file in it`
      throw new SkillError('READ_ONLY', `${what}; it cannot be replaced as a whole`)
    }
    const read = async ({ path, isExecutable }: SkillFile): Promise<FolderFile> => ({
      path,
      bytes: await this.#host.readFile(earlier, path),
      isExecutable,
    })
    const files = await Promise.all(earlier.files.map(read))
    return await replaceFolder({ fileSystem, root, location }, files, this.#timestamp())
  }

  async #checkFolder(folder: string, { name, files }: Skill): Promise<void> {
    for (const { path, digest } of files) {
      const actual = (await this.#read(`${folder}/${path}`))?.digest
      this.#checkBase({ baseDigest: digest, path, skill: name }, actual)
    }
  }

  /**
   * Folders are renamed and exchanged while a write waits for its turn: the text in the folder has to be that of the skill, by
   * its name or as it was read last. Only a broken text, which has no name, may take the place of a broken one.
   */
  async #checkSkill({ name, folder, location, skillFile, isThere, known }: ExpectedFolder): Promise<void> {
    const text = await this.#read(`${folder}/${skillFile}`)
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

  #known(location: string): Digest | undefined {
    const newest = this.#host.findNewest(location)
    return newest?.files.find(({ path }) => path === newest.skillFile)?.digest
  }

  /** What the caller wants to change may have been moved or removed a moment ago. */
  async #look(name: string): Promise<void> {
    const isThere = (): boolean => (this.#host.find(name) ?? this.#host.findOwn(name)) !== undefined
    const wasThere = isThere()
    await this.#host.look(name)
    if (wasThere && !isThere()) throw createGone(name)
  }

  #timestamp(): string {
    return new Date(this.#options.clock.now()).toISOString().replaceAll(/[:.]/g, '-')
  }

  /** The rule is for new names: a skill that is there may be changed under the name that it has. */
  #checkName(name: string, served: Skill | undefined): void {
    const { names, reservedNames } = this.#options
    const isKnown = served?.name === name && isLoadableName(name)
    const isSkipped = served?.source !== this.#layer.label && this.#layer.isSkipped?.(name) === true
    const fault =
      (isKnown ? undefined : findNameFault(name, names, reservedNames)) ??
      (isSkipped ? 'is that of a folder in which no skills are looked for; use another' : undefined)
    if (fault !== undefined)
      throw new SkillError('INVALID_NAME', `skill name ${JSON.stringify(name)} ${fault}`, { data: { name } })
  }

  /** Where a file goes. Texts of skills are written as such, one for each skill, and never inside another. */
  #locate(name: string, text: string): { readonly place: Place; readonly path: SkillPath } {
    const path = checkPath(text)
    const { root, label, fileNames } = this.#layer
    const served = this.#host.find(name)
    const own = served?.source === label ? served : this.#host.findOwn(name)
    const skillFile =
      (own ?? served)?.skillFile ?? (fileNames.includes(path) ? path : (fileNames[0] ?? SKILL_FILE))
    const last = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
    if (path !== skillFile && fileNames.some(each => each.toLowerCase() === last)) {
      throw new SkillError(
        'INVALID_PATH',
        `path ${JSON.stringify(text)} would be a skill of its own; the text of ${JSON.stringify(name)} is ${JSON.stringify(skillFile)}`,
      )
    }
    const isSingleFile = own !== undefined && own.location === own.skillFile
    if (isSingleFile && path !== skillFile)
      throw new SkillError(
        'INVALID_PATH',
        `${JSON.stringify(name)} is the single file ${JSON.stringify(skillFile)}`,
      )
    const location = own?.location ?? name
    const folder = location === '' || isSingleFile ? root : `${root}/${location}`
    const isElsewhere = served !== undefined && served.source !== label
    const isThere = own !== undefined
    const known = isThere ? this.#known(location) : undefined
    return { place: { name, folder, location, skillFile, isThere, known, served, isElsewhere }, path }
  }

  async #makeLive(name: string): Promise<ReloadedSkill> {
    const { errors, isHeld } = await this.#host.reloadSkill(name)
    const served = this.#host.find(name)
    // One that is held is expected to be served as it was.
    if (served === undefined || served.source === this.#layer.label || isHeld) return { errors, isHeld }
    const message = `${JSON.stringify(name)} is served from the source ${JSON.stringify(served.source)}, which comes first`
    return { errors: [...errors, message], isHeld }
  }

  async #writeFile(
    request: WriteRequest,
    place: Place,
    bytes: Uint8Array,
  ): Promise<Omit<WriteResult, 'errors' | 'isHeld' | 'advice'>> {
    const { fileSystem, root } = this.#layer
    const { folder, location, served, isElsewhere } = place
    const { path } = request
    await this.#checkSkill(place)
    const target = `${folder}/${path}`
    const below = isElsewhere ? served?.files.find(file => file.path === path) : undefined
    const before = (await this.#read(target)) ?? below
    this.#checkBase(request, before?.digest)
    const digest = digestOf(bytes, this.#options.hasher)
    const isLive = !isElsewhere && served?.files.some(file => file.path === path && file.digest === digest)
    // Noted first: a watcher may see the file before this call goes on.
    if (request.agent !== undefined && isLive !== true)
      await this.#host.noteWrite?.({ location, path, digest, author: request.agent })
    const isCopiedUp = isElsewhere && served !== undefined && (await this.#copyUp(served, folder))
    const isExecutable = request.isExecutable ?? before?.isExecutable ?? false
    await fileSystem.write(target, bytes, { inside: root, isExecutable })
    return { path: target, digest, isNew: before === undefined, isCopiedUp }
  }

  async #read(
    target: string,
  ): Promise<{ bytes: Uint8Array; digest: Digest; isExecutable: boolean } | undefined> {
    const { fileSystem, root } = this.#layer
    try {
      const inside = [await fileSystem.resolve(root)]
      const { bytes, stat } = await fileSystem.read(target, {
        inside,
        maxBytes: (this.#layer.limits ?? DEFAULT_LIMITS).maxFolderBytes,
      })
      return { bytes, digest: digestOf(bytes, this.#options.hasher), isExecutable: stat.isExecutable }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
      throw thrown
    }
  }

  /**
   * Copies a skill of a read-only source: a new folder appears as a whole; to one that is there and is no skill yet, what
   * it lacks is added, the text last.
   */
  async #copyUp(skill: Skill, folder: string): Promise<boolean> {
    const { fileSystem, root } = this.#layer
    const names = await fileSystem.list(folder).then(
      entries => entries.map(({ name }) => name),
      () => undefined,
    )
    if (names?.includes(skill.skillFile) === true) return false
    if (names !== undefined) {
      await this.#copy(skill, folder)
      return true
    }
    const suffix = Math.floor(this.#options.clock.random() * 1e9)
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
      if ((await this.#read(target)) !== undefined) continue
      await fileSystem.write(target, await this.#host.readFile(skill, path), { inside: root, isExecutable })
    }
  }

  #checkBase(
    { baseDigest, path, skill }: Pick<WriteRequest, 'baseDigest' | 'path' | 'skill'>,
    actual: Digest | undefined,
  ): void {
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
}

function createGone(name: string, cause?: unknown): SkillError {
  const message = `the folder of ${JSON.stringify(name)} is not there any more; look at the skills again and decide anew`
  return new SkillError('SKILL_NOT_FOUND', message, { cause, data: { name } })
}

/** The file that has to be written to come from one revision to another, when it is one alone. */
function findOnlyDifference(from: Skill, to: Skill): SkillFile | undefined {
  const known = new Map(from.files.map(file => [file.path, file]))
  const kept = new Set(to.files.map(({ path }) => path))
  const [only, another] = to.files.filter(({ path, digest, isExecutable }) => {
    const before = known.get(path)
    return before?.digest !== digest || before.isExecutable !== isExecutable
  })
  return another === undefined && from.files.every(({ path }) => kept.has(path)) ? only : undefined
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
