import { SkillError } from '../errors.ts'
import { untilAborted } from '../host.ts'
import { checkOptions } from '../options.ts'
import { quote } from '../quote.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { diffFiles } from '../skill/diff-skills.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { findLeftOutIn, isBriefName } from '../skill/left-out-names.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill } from '../skill/skill.ts'
import { isLoadableName } from '../skill/skill-name.ts'
import { parseSkillPath, type SkillPath } from '../skill/skill-path.ts'
import { checkWrite } from './check-write.ts'
import { type FolderFile, replaceFolder, TRASH } from './folder-swap.ts'
import { refuseGit } from './git-guard.ts'
import { createGone, type ExpectedFolder, folderIn, LayerFiles, type WritableLayer } from './layer-files.ts'
import { findNameFault, RESERVED_WORDS } from './skill-name-rule.ts'
import {
  checkAuthor,
  type ReloadedSkills,
  type SkillWriteRequest,
  type SkillWriteResult,
  type SkillWriterOptions,
  type SkillWriterParts,
  WRITE_REQUEST,
  WRITER_OPTIONS,
} from './skill-write.ts'
import type { WriteLock } from './write-lock.ts'
import { checkFolderIsFree, checkTarget, resolveRoot, type WriteTarget } from './write-target.ts'

/** The folder to which the files of a skill are written. */
interface Place extends ExpectedFolder {
  readonly served: Skill | undefined
  /** True if a source other than the writable one serves the skill. */
  readonly isElsewhere: boolean
}

const SKILL_FILE = 'SKILL.md'
const encoder = new TextEncoder()

/**
 * Writes skills into one folder. Each write replaces one whole file. Refuses a file that would make the skill invalid.
 * Before a skill of another source is changed, the skill is copied into the folder. Removed skills are moved to the
 * trash, not deleted.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills', { writable: true })] })
 * const writer = skills.writer()
 * await writer.write({ skill: 'support-pdf', path: 'references/forms.md', content: 'Forms have 12 fields.\n' })
 * console.log(skills.current.get('support-pdf').files.map(file => file.path))
 * // prints [ 'SKILL.md', 'references/forms.md' ]
 * ```
 */
export class SkillWriter {
  readonly #layer: WritableLayer
  readonly #parts: SkillWriterParts
  readonly #options: Required<SkillWriterOptions>
  readonly #files: LayerFiles
  readonly #lock: WriteLock

  /** Used by `SkillRuntime.writer`. */
  constructor(layer: WritableLayer, parts: SkillWriterParts, options: SkillWriterOptions = {}) {
    checkOptions('writer()', options, WRITER_OPTIONS)
    this.#layer = layer
    this.#parts = parts
    this.#lock = parts.writeLock
    this.#options = {
      names: options.names ?? 'strict',
      reservedNames: options.reservedNames ?? RESERVED_WORDS,
      afterWrite: options.afterWrite ?? 'reload',
    }
    this.#files = new LayerFiles(layer, parts)
  }

  /**
   * Writes one file of an existing or new skill. Reads the skill first, to find its current folder.
   * @throws {SkillError} INVALID_NAME, INVALID_PATH, SKILL_INVALID (a file that cannot be served is not written),
   * INVALID_OPTION, TOO_LARGE, OUTSIDE_ROOT, IO_FAILED; CHANGED_SINCE_READ when the file does not have the digest
   * `baseDigest`, or the folder contains another skill; SKILL_NOT_FOUND when the skill was removed; `signal.reason`
   * when the signal aborts
   *
   * @example
   * ```ts
   * import { createSkillRuntime, renderSkillText, SkillError } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills', { writable: true })] })
   * const content = renderSkillText({ name: 'support-pdf', description: 'Fills in forms.', body: 'Do it.' })
   * const file = { skill: 'support-pdf', path: 'SKILL.md', content }
   * const failure = await skills.writer().write({ ...file, baseDigest: 'none' }).catch((error: unknown) => error)
   * console.log(SkillError.isInstance(failure, 'CHANGED_SINCE_READ')) // prints true
   * console.log((await skills.writer().write(file)).isNew) // prints false
   * ```
   */
  async write(request: SkillWriteRequest): Promise<SkillWriteResult> {
    // A misspelt `baseDigest` would overwrite changes. A misspelt `agent` would publish a write without approval.
    checkOptions('write()', request, WRITE_REQUEST)
    checkAuthor('write()', request.agent, 'agent')
    const { skill: name, content, signal } = request
    signal?.throwIfAborted()
    if (typeof name !== 'string' || typeof request.path !== 'string')
      throw new SkillError('INVALID_OPTION', 'write() needs the strings "skill" and "path"')
    if (typeof content !== 'string' && !(content instanceof Uint8Array))
      throw new SkillError('INVALID_OPTION', `content is ${typeof content}; use a text or bytes`)
    await untilAborted(signal, this.#look(name))
    const served = this.#find(name)
    this.#checkName(name, served)
    const { place, path } = this.#locate(name, request.path)
    await this.#refuseGit(place, path)
    const bytes = typeof request.content === 'string' ? encoder.encode(request.content) : request.content
    const advice = checkWrite({ skill: name, path, bytes, skillFile: place.skillFile }, served, this.#layer)
    const written = await this.#runLocked(signal, () => this.#writeFile({ ...request, path }, place, bytes))
    const { errors, isHeld } =
      this.#options.afterWrite === 'reload'
        ? await untilAborted(signal, this.#makeLive(name))
        : { errors: [], isHeld: false }
    return { ...written, errors, isHeld, advice }
  }

  /**
   * Runs a function under the write lock. If the signal aborts before the function starts, the function is not called.
   * A function that has started is always awaited.
   */
  async #runLocked<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    let isBegun = false
    const turn = this.#lock.run(async () => {
      signal?.throwIfAborted()
      isBegun = true
      return await work()
    })
    await untilAborted(signal, turn).catch((thrown: unknown) => {
      if (!isBegun) throw thrown
    })
    return await turn
  }

  /**
   * Moves the folder of a skill to the trash, which no source reads. Returns the new path of the folder.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when the folder now contains another skill; READ_ONLY when
   * the skill is in another source, or has no folder of its own
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills', { writable: true })] })
   * const trash = await skills.writer().quarantine('support-pdf')
   * console.log(trash.includes('support-pdf'), skills.current.list()) // prints true []
   * ```
   */
  async quarantine(name: string): Promise<string> {
    await this.#look(name)
    try {
      return await this.#lock.run(() => this.#putAside(name))
    } finally {
      if (this.#options.afterWrite === 'reload') await this.#parts.reloads.reloadSkill(name)
    }
  }

  /**
   * Writes the files of an earlier revision to the folder of a skill. `present` is the expected current revision;
   * absent if the current text is broken. If the whole folder was replaced, returns the new path of the old folder.
   * @throws {SkillError} READ_ONLY when the skill is in another source; CHANGED_SINCE_READ when the folder does not
   * contain `present`; REVISION_NOT_FOUND when the old files are no longer stored
   */
  async restore(earlier: Skill, present: Skill | undefined): Promise<string | undefined> {
    try {
      return await this.#lock.run(() => this.#restore(earlier, present))
    } finally {
      await this.#parts.reloads.reloadSkill(earlier.name)
    }
  }

  /**
   * Reads all sources again, including read-only sources. If `conversation` is given, returns the skills that the
   * conversation sees.
   */
  async reload(conversation?: string): Promise<ReloadedSkills> {
    const { generation, errors } = await this.#parts.reloads.reload()
    const seen = conversation === undefined ? generation : generation.forConversation(conversation)
    return { names: seen.list().map(skill => skill.name), errors }
  }

  async #putAside(name: string): Promise<string> {
    const skill = this.#find(name)
    if (skill === undefined) throw new SkillError('SKILL_NOT_FOUND', `there is no skill ${quote(name)}`)
    if (skill.source !== this.#layer.label) {
      throw new SkillError(
        'READ_ONLY',
        `${quote(name)} is in the source ${quote(skill.source)}, which is read-only`,
      )
    }
    const { root, fileSystem } = this.#layer
    if (skill.location === '' || skill.location === skill.skillFile) {
      const what = skill.location === '' ? 'the folder of the source itself' : 'a single file'
      throw new SkillError('READ_ONLY', `${quote(name)} is ${what}; only folders are put aside`)
    }
    const { location, skillFile } = skill
    const folder = `${root}/${location}`
    await this.#files.checkSkill({
      name,
      folder,
      location,
      skillFile,
      isThere: true,
      known: this.#known(location),
    })
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
      const shown = quote(earlier.source)
      throw new SkillError('READ_ONLY', `${quote(name)} is in the source ${shown}, which is read-only`)
    }
    const folder = folderIn(this.#layer, earlier)
    if (present === undefined)
      await this.#files.checkSkill({ name, folder, location, skillFile, isThere: false })
    else await this.#files.checkFolder(folder, present)
    const only = present === undefined ? undefined : findOnlyDifference(present, earlier)
    if (only !== undefined) {
      const guarded = { fileSystem, root, location: folder.slice(root.length + 1) }
      await refuseGit(guarded, [only.path])
      const bytes = await this.#parts.reader.readFile(earlier, only.path)
      const { isExecutable } = only
      await fileSystem.write(`${folder}/${only.path}`, bytes, { inside: root, isExecutable })
      return undefined
    }
    if (folder === root) {
      const what = `${quote(name)} is the folder of the source itself, or a single file in it`
      throw new SkillError('READ_ONLY', `${what}; it cannot be replaced as a whole`)
    }
    const read = async ({ path, isExecutable }: SkillFile): Promise<FolderFile> => ({
      path,
      bytes: await this.#parts.reader.readFile(earlier, path),
      isExecutable,
    })
    const files = await Promise.all(earlier.files.map(read))
    const paths = present?.files.map(({ path }) => path) ?? []
    const parts = { paths, areAll: present !== undefined }
    return await replaceFolder({ fileSystem, root, location }, files, { when: this.#timestamp(), parts })
  }

  /** Returns the served skill. */
  #find(name: string): Skill | undefined {
    return this.#parts.registry.current.find(name)
  }

  /**
   * Returns the newest revision of a skill in the writable source, even if that revision is not served. Returns
   * `undefined` if the text of the skill is broken.
   */
  #findOwn(name: string): Skill | undefined {
    return this.#reportsOf(name).flatMap(({ location }) => this.#findNewest(location) ?? [])[0]
  }

  #findNewest(location: string): Skill | undefined {
    return this.#parts.registry.findNewest({ origin: this.#layer.origin, location })
  }

  #reportsOf(name: string): readonly SkillReport[] {
    const { label } = this.#layer
    return this.#parts.registry.current
      .reports()
      .filter(report => report.name === name && report.source === label)
  }

  async #reloadSkill(name: string): Promise<Pick<SkillWriteResult, 'errors' | 'isHeld'>> {
    const { errors } = await this.#parts.reloads.reloadSkill(name)
    const isHeld = this.#reportsOf(name).some(({ status }) => status === 'pending')
    return { errors: errors.map(({ message }) => message), isHeld }
  }

  #known(location: string): Digest | undefined {
    const newest = this.#findNewest(location)
    return newest?.files.find(({ path }) => path === newest.skillFile)?.digest
  }

  /** Reads the skill again, because the skill may have been moved or removed since the last read. */
  async #look(name: string): Promise<void> {
    const find = (): Skill | undefined => this.#find(name) ?? this.#findOwn(name)
    const before = find()
    await this.#parts.sources.lookAgain(name)
    if (before === undefined || find() !== undefined) return
    if (before.source !== this.#layer.label) throw createGone(name)
    const { skillFile } = before
    throw await this.#files.describeGone({ name, folder: folderIn(this.#layer, before), skillFile })
  }

  #timestamp(): string {
    return new Date(this.#parts.clock.now()).toISOString().replaceAll(/[:.]/g, '-')
  }

  /**
   * Checks a name. The option `names` applies only to new skills. An existing skill may keep a name that `names`
   * forbids.
   */
  #checkName(name: string, served: Skill | undefined): void {
    const { names, reservedNames } = this.#options
    const isKnown = served?.name === name && isLoadableName(name)
    const isSkipped = served?.source !== this.#layer.label && this.#layer.isSkipped?.(name) === true
    const fault =
      (isKnown ? undefined : findNameFault(name, names, reservedNames)) ??
      (isSkipped ? 'is the name of a folder that the source skips; use another name' : undefined)
    if (fault !== undefined)
      throw new SkillError('INVALID_NAME', `skill name ${quote(name)} ${fault}`, { data: { name } })
  }

  /**
   * Returns the folder and the path of a file. Refuses a second skill text in the folder or in a subfolder. A
   * single-file skill can have no other file.
   */
  #locate(name: string, text: string): { readonly place: Place; readonly path: SkillPath } {
    const { label, fileNames, reading } = this.#layer
    const path = checkPath(text, reading?.secretFiles === 'include')
    const served = this.#find(name)
    const own = served?.source === label ? served : this.#findOwn(name)
    const skillFile =
      (own ?? served)?.skillFile ?? (fileNames.includes(path) ? path : (fileNames[0] ?? SKILL_FILE))
    const last = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
    if (path !== skillFile && fileNames.some(each => each.toLowerCase() === last)) {
      throw new SkillError(
        'INVALID_PATH',
        `path ${quote(text)} would be a skill of its own; the text of ${quote(name)} is ${quote(skillFile)}`,
      )
    }
    const isSingleFile = own !== undefined && own.location === own.skillFile
    if (isSingleFile && path !== skillFile)
      throw new SkillError('INVALID_PATH', `${quote(name)} is the single file ${quote(skillFile)}`)
    const location = own?.location ?? name
    const folder = folderIn(this.#layer, { location, skillFile })
    const isElsewhere = served !== undefined && served.source !== label
    const isThere = own !== undefined
    const known = isThere ? this.#known(location) : undefined
    return { place: { name, folder, location, skillFile, isThere, known, served, isElsewhere }, path }
  }

  /** Refuses a file that git would take for its own data, alone or together with the files that are copied with it. */
  async #refuseGit({ folder, served, isElsewhere }: Place, path: SkillPath): Promise<void> {
    const { fileSystem, root } = this.#layer
    const copied = isElsewhere && served !== undefined ? served.files.map(file => file.path) : []
    await refuseGit({ fileSystem, root, location: folder.slice(root.length + 1) }, [path, ...copied])
  }

  /** Checks that the write changes only the folder of its skill, and returns the checked target. */
  async #checkTarget(
    { path, agent, isInScope = () => true }: SkillWriteRequest,
    { name, location, skillFile, isThere }: Place,
  ): Promise<WriteTarget> {
    const { registry, agentWrites } = this.#parts
    const root = await resolveRoot(this.#layer)
    const target = { name, location, folder: folderIn({ root }, { location, skillFile }), path }
    await checkTarget(target, this.#layer, registry.listFolders(), isInScope)
    if (agent !== undefined && !isThere)
      await checkFolderIsFree(target, this.#layer, agentWrites.pathsAt(location))
    return target
  }

  async #makeLive(name: string): Promise<Pick<SkillWriteResult, 'errors' | 'isHeld'>> {
    const { errors, isHeld } = await this.#reloadSkill(name)
    const served = this.#find(name)
    // While a write waits for approval, another source may serve the skill, so this is not an error.
    if (served === undefined || served.source === this.#layer.label || isHeld) return { errors, isHeld }
    const message = `${quote(name)} is served from the source ${quote(served.source)}, which has precedence`
    return { errors: [...errors, message], isHeld }
  }

  async #writeFile(
    request: SkillWriteRequest,
    place: Place,
    bytes: Uint8Array,
  ): Promise<Omit<SkillWriteResult, 'errors' | 'isHeld' | 'advice'>> {
    const { fileSystem, root } = this.#layer
    const { folder, location, served, isElsewhere } = place
    const { path } = request
    await this.#files.checkSkill(place)
    const checked = await this.#checkTarget(request, place)
    const target = `${folder}/${path}`
    const below = isElsewhere ? served?.files.find(file => file.path === path) : undefined
    const before = (await this.#files.read(target)) ?? below
    this.#files.checkBase(request, before?.digest)
    const digest = digestOf(bytes, this.#parts.hasher)
    const isLive = !isElsewhere && served?.files.some(file => file.path === path && file.digest === digest)
    // Record the write first, because a watcher may see the file before this call continues.
    if (request.agent !== undefined && isLive !== true)
      await this.#parts.agentWrites.record({
        ...{ location, folder: checked.folder, path, digest, author: request.agent },
      })
    const isCopiedUp = isElsewhere && served !== undefined && (await this.#files.copyUp(served, folder))
    const isExecutable = request.isExecutable ?? before?.isExecutable ?? false
    await fileSystem.write(target, bytes, { inside: root, isExecutable })
    return { path: target, digest, isNew: before === undefined, isCopiedUp }
  }
}

/** If two revisions differ in only one file, returns that file. */
function findOnlyDifference(from: Skill, to: Skill): SkillFile | undefined {
  const [only, another] = diffFiles(from.files, to.files)
  return another === undefined ? only?.after : undefined
}

function checkPath(text: string, includesSecrets: boolean): SkillPath {
  const path = parseSkillPath(text.replace(/^\.\//, ''))
  // A new file of such a name delays the reading of the whole skill.
  if (isBriefName(path.slice(path.lastIndexOf('/') + 1)))
    throw new SkillError(
      'INVALID_PATH',
      `path ${quote(text)} has a name that tools give to temporary files; use another name`,
    )
  const leftOut = findLeftOutIn(path)
  if (leftOut === undefined || (leftOut.kind === 'secret' && includesSecrets)) return path
  const name = leftOut.entry.slice(leftOut.entry.lastIndexOf('/') + 1)
  const why =
    leftOut.kind === 'secret'
      ? 'usually holds a secret and is left out of skills'
      : 'never belongs to a skill'
  throw new SkillError(
    'INVALID_PATH',
    `path ${quote(text)} has ${quote(name)}, which ${why}; use another name`,
  )
}
