import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { type FileStat, type FileSystem, isPending } from '../fs/file-system.ts'
import type { Clock, Hasher } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { digestOf } from '../skill/digest.ts'
import { describeHiddenName } from '../skill/hidden-text.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import { describeTextFile } from '../skill/text-file.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { hasBriefFile } from './brief-files.ts'
import { looksHalfWritten, noteDoubt, toBelieved } from './half-written.ts'
import { checkTotals, describeFileFault, describeKey, describePath, makeSkill } from './make-skill.ts'
import { type DirectoryNode, type FileNode, joinPath, linkedPathOf, listingOf, pathWithin } from './mirror.ts'
import { isRacyStat } from './mirror-scanner.ts'
import type { NotedFolder } from './noted-folder.ts'
import type { ReadFile } from './second-fingerprint.ts'

export interface FolderReaderOptions {
  readonly fileSystem: FileSystem
  readonly clock: Clock
  readonly limits: SkillLimits
  readonly label: string
  readonly reading: Partial<ReadingPolicy>
  readonly pathOf: (node: DirectoryNode) => string
  readonly displayPath: (path: string) => string
  /** Whether commands on this machine can use the paths of the folders. */
  readonly hasDirectories: boolean
  /** Whether a file with several hard links is left out, because another link to it may be outside of the source. */
  readonly refusesHardLinks: boolean
}

export interface FolderContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly insideFolders: readonly string[]
  readonly signal: AbortSignal
  /** Whether a file that looks half-written is read again later. */
  readonly doubts: boolean
  /** Whether a new file that looks half-written, or has a brief name, is read again later. */
  readonly doubtsNew: boolean
  /** The reader adds every file whose bytes it read, for the second fingerprint. */
  readonly read: ReadFile[]
}

interface ManifestFile {
  readonly path: string
  readonly directory: DirectoryNode
  readonly file: FileNode
}

const MAX_PLAIN_PATHS = 1_000

/**
 * The result for a folder from which a file vanished after the folder was listed. The caller discards this result and
 * reads the folder again.
 */
export const UNSTABLE: unique symbol = Symbol('unstable')

/**
 * Reads and stores the changed files in the folder of one skill. Returns the folder's entry, which is a valid or a
 * broken skill.
 */
export class FolderReader {
  readonly #options: FolderReaderOptions
  /** Cache of valid paths, because most skills contain files with the same few names. */
  readonly #plainPaths = new Map<string, string>()

  constructor(options: FolderReaderOptions) {
    this.#options = options
  }

  async read(folder: DirectoryNode, context: FolderContext): Promise<SourceEntry | typeof UNSTABLE> {
    if (folder.skillFileLostAt !== undefined && folder.entry !== undefined)
      return this.#keep(folder, folder.entry)
    const found: Diagnostic[] = []
    const files = this.#collect(folder, found)
    const { limits, reading } = this.#options
    if (files.length > limits.maxFiles) {
      checkTotals(
        files.map(({ file }) => file),
        { ...limits, maxFolderBytes: Infinity },
        found,
        this.#display(folder, ''),
      )
      return this.#toEntry(folder, { diagnostics: found })
    }
    if (context.doubts && context.doubtsNew && (await hasBriefFile(folder, files, this.#options)))
      return UNSTABLE
    let skillBytes: Uint8Array | undefined
    let total = 0
    for (const item of files) {
      const isSkillFile = item.path === folder.skillFile
      const bytes = await this.#capture(item, folder, total, isSkillFile, context)
      if (bytes === UNSTABLE) return UNSTABLE
      total += item.file.stat === undefined ? 0 : item.file.size
      if (isSkillFile) skillBytes = bytes
      if (item.file.fault !== undefined) found.push(item.file.fault)
      else if (item.file.findings.length > 0) found.push(...item.file.findings)
      if (item.file.fault?.code === 'FOLDER_TOO_LARGE') break
    }
    const listFiles = (): SkillFile[] => files.filter(({ file }) => file.fault === undefined).map(toSkillFile)
    const made = makeSkill(this.#place(folder), skillBytes, listFiles, found, {
      ...{ hasher: context.hasher, limits, reading, directoryName: nameOf(folder) },
      displayPath: path => this.#display(folder, path),
    })
    const refused = files.find(({ path }) => path === folder.skillFile)?.file.digest
    const entry = this.#toEntry(
      folder,
      made.skill === undefined ? { ...made, ...defined({ refused }) } : made,
    )
    const { skill } = entry
    if (skill !== undefined && skill.revision !== folder.entry?.skill?.revision)
      context.store.putTree(skill.revision, skill.files)
    return entry
  }

  /** Keeps the last state of a folder whose skill file is missing, and says so. */
  #keep(folder: DirectoryNode, { skill, refused, diagnostics }: SourceEntry): SourceEntry {
    const served = skill === undefined ? '' : `; revision ${skill.revision} is still served for a moment`
    const lost: Diagnostic = {
      ...{ code: 'SKILL_FILE_MISSING', severity: 'warning' },
      message: `${folder.skillFile} is missing${served}`,
      path: this.#display(folder, folder.skillFile as string),
      fix: 'write the file again, or remove the folder',
    }
    const kept = Object.freeze([...diagnostics.filter(({ code }) => code !== lost.code), lost])
    const shown = skill && Object.freeze({ ...skill, diagnostics: kept })
    return this.#toEntry(folder, { diagnostics: kept, ...defined({ skill: shown, refused }) })
  }

  /** Makes the entry of a folder from its note. */
  recall(folder: DirectoryNode, noted: NotedFolder): SourceEntry {
    const skill = noted.toSkill(this.#place(folder))
    return this.#toEntry(folder, { skill, diagnostics: skill.diagnostics })
  }

  #collect(folder: DirectoryNode, found: Diagnostic[]): ManifestFile[] {
    const files = new Map<string, ManifestFile>()
    const directories = [folder]
    for (const directory of directories) {
      directories.push(...directory.directories.values())
      found.push(...directory.findings)
      const within = pathWithin(folder, directory)
      for (const file of directory.files.values()) {
        const raw = within === '' ? file.name : `${within}/${file.name}`
        const plain = this.#plainPaths.get(raw)
        if (plain !== undefined && !files.has(plain)) {
          files.set(plain, { path: plain, directory, file })
          continue
        }
        const path = raw.normalize('NFC')
        const fault = describePath(raw, files.has(path))
        if (fault !== undefined) {
          found.push({ ...fault, path: this.#display(folder, raw) })
        } else {
          files.set(path, { path, directory, file })
          const hidden = describeHiddenName(path)
          for (const each of hidden) found.push({ ...each, path: this.#display(folder, path) })
          if (hidden.length === 0 && path === raw) this.#rememberPath(path)
        }
      }
    }
    return [...files.values()]
  }

  #rememberPath(path: string): void {
    if (this.#plainPaths.size >= MAX_PLAIN_PATHS) this.#plainPaths.clear()
    this.#plainPaths.set(path, path)
  }

  /** Ensures that the bytes of a file are in the store. Returns the bytes if the file had to be read. */
  async #capture(
    item: ManifestFile,
    folder: DirectoryNode,
    total: number,
    isSkillFile: boolean,
    context: FolderContext,
  ): Promise<Uint8Array | undefined | typeof UNSTABLE> {
    const { file, directory } = item
    const { fileSystem, clock, limits, reading } = this.#options
    const isCaptured = file.stat !== undefined && file.digest !== undefined && context.store.has(file.digest)
    if (isCaptured && !isSkillFile) return undefined
    const room = limits.maxFolderBytes - total
    const maxBytes = isSkillFile ? Math.min(limits.maxSkillFileBytes, room) : room
    // Read the clock before the file is opened. If the process is suspended during the read, a later time would make
    // the bytes look too old.
    const readAt = clock.now()
    try {
      const opened = fileSystem.read(`${this.#options.pathOf(directory)}/${file.name}`, {
        inside: context.insideFolders,
        maxBytes,
        signal: context.signal,
      })
      const { bytes, stat } = isPending(opened) ? await opened : opened
      if (this.#options.refusesHardLinks && stat.links > 1) {
        throw new SkillError(
          'OUTSIDE_ROOT',
          'it is a hard link, and a reviewed source does not read hard links',
          { data: { links: stat.links } },
        )
      }
      const before = file.believed
      const isDoubted = context.doubts && (before !== undefined || context.doubtsNew)
      if (isDoubted && (await this.#looksHalfWritten(file, stat, bytes, readAt, context)))
        return this.#disbelieve(file)
      file.believed = toBelieved(stat, bytes, readAt)
      file.stat = stat
      file.isRacy = isRacyStat(stat, readAt)
      file.isShared = stat.links > 1
      const shownPath = this.#display(folder, item.path)
      const key = isSkillFile ? undefined : describeKey({ path: item.path, bytes }, reading, shownPath)
      const isLeftOut = key !== undefined && reading.secretFiles !== 'include'
      file.digest = isLeftOut ? undefined : digestOf(bytes, context.hasher)
      file.size = isLeftOut ? 0 : bytes.length
      file.fault = isLeftOut ? key : undefined
      file.findings = [...this.#findInText(item, folder, bytes), ...(key === undefined ? [] : [key])]
      if (file.digest !== undefined) context.store.put(file.digest, bytes)
      context.read.push({ directory, file, before })
      return bytes
    } catch (thrown) {
      file.stat = undefined
      if (SkillError.isInstance(thrown, 'NOT_FOUND') && !file.isLink) return UNSTABLE
      const shownPath = this.#display(folder, item.path)
      file.fault = describeFileFault({ path: item.path, isSkillFile, shownPath }, thrown, limits)
      return undefined
    }
  }

  async #looksHalfWritten(
    file: FileNode,
    stat: FileStat,
    bytes: Uint8Array,
    readAt: number,
    { store }: FolderContext,
  ): Promise<boolean> {
    const { digest } = file
    const readBefore = async (): Promise<Uint8Array | undefined> =>
      digest === undefined ? undefined : await store.get(digest)
    const now = this.#options.clock.now()
    return await looksHalfWritten({ stat, bytes, before: file.believed, readAt, now, readBefore })
  }

  /** Discards bytes that look half-written, so that the next scan reads the file again. The accepted state stays. */
  #disbelieve(file: FileNode): typeof UNSTABLE {
    file.stat = undefined
    if (file.believed !== undefined) file.believed = noteDoubt(file.believed, this.#options.clock.now())
    return UNSTABLE
  }

  /**
   * Finds faults in the text of files that are not larger than the size limit of instructions. The parser finds the
   * faults in the instructions.
   */
  #findInText({ path }: ManifestFile, folder: DirectoryNode, bytes: Uint8Array): readonly Diagnostic[] {
    const isLooked = path !== folder.skillFile && bytes.length <= this.#options.limits.maxSkillFileBytes
    return isLooked ? describeTextFile(this.#display(folder, path), bytes) : []
  }

  #toEntry(
    folder: DirectoryNode,
    { skill, refused, diagnostics }: Pick<SourceEntry, 'skill' | 'refused' | 'diagnostics'>,
  ): SourceEntry {
    const { location, directory } = this.#place(folder)
    const identity = identityOf(folder)
    const realPath = linkedPathOf(folder)
    const entry: SourceEntry = {
      location,
      name: skill?.name ?? (folder.entry?.skill?.name || nameOf(folder) || this.#options.label),
      skillFile: folder.skillFile as string,
      ...defined({ skill, refused }),
      ...(isLinked(folder) ? { isLinked: true } : {}),
      ...defined({ identity, directory, realPath }),
      ...(hasLinks(folder) ? { hasLinks: true } : {}),
      diagnostics,
    }
    const before = folder.entry
    const isSame =
      before !== undefined &&
      before.name === entry.name &&
      before.directory === entry.directory &&
      before.identity === entry.identity &&
      before.realPath === entry.realPath &&
      before.hasLinks === entry.hasLinks &&
      before.skill?.revision === skill?.revision &&
      before.refused === refused &&
      before.skillFile === entry.skillFile &&
      JSON.stringify(before.diagnostics) === JSON.stringify(diagnostics)
    return isSame ? before : Object.freeze(entry)
  }

  #place(folder: DirectoryNode): { source: string; location: string; directory?: string; skillFile: string } {
    const { hasDirectories, fileSystem, pathOf } = this.#options
    return {
      source: this.#options.label,
      location: folder.path.normalize('NFC'),
      ...(hasDirectories ? { directory: fileSystem.toNativePath?.(pathOf(folder)) ?? pathOf(folder) } : {}),
      skillFile: folder.skillFile as string,
    }
  }

  #display(folder: DirectoryNode, path: string): string {
    return this.#options.displayPath(joinPath(listingOf(folder).path, path))
  }
}

/**
 * Returns an identity that a folder keeps when the folder is renamed. Returns `undefined` for a single file, or if the
 * file system has no inodes.
 */
export function identityOf({ isStandalone, stat }: DirectoryNode): string | undefined {
  if (isStandalone || stat === undefined || stat.ino === 0) return undefined
  return [stat.dev, stat.ino, stat.birthtimeMs].join(':')
}

function isLinked(folder: DirectoryNode): boolean {
  for (let at: DirectoryNode | undefined = folder; at !== undefined; at = at.parent)
    if (at.isLink) return true
  return false
}

/** Whether a file or a folder inside a skill's folder is a link. */
function hasLinks({ directories, files }: DirectoryNode): boolean {
  for (const { isLink } of files.values()) if (isLink) return true
  for (const directory of directories.values()) if (directory.isLink || hasLinks(directory)) return true
  return false
}

/** Returns the name of the skill's folder. For a single-file skill, returns the file name without its extension. */
function nameOf(folder: DirectoryNode): string {
  return folder.isStandalone ? folder.name.replace(/\.md$/i, '') : folder.name
}

function toSkillFile({ path, file }: ManifestFile): SkillFile {
  if (file.stat === undefined || file.digest === undefined) throw new TypeError(`${path} was not captured`)
  return Object.freeze({
    path,
    digest: file.digest,
    size: file.size,
    isExecutable: file.stat.isExecutable,
  })
}
