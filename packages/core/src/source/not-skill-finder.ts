import { SkillError } from '../errors.ts'
import type { DirectoryEntry, FileKind } from '../fs/file-system.ts'
import { compareText } from '../skill/compare.ts'
import { isNeverRead } from '../skill/entry-names.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import {
  describeFile,
  describeFolder,
  describeIgnored,
  describeInSkipped,
  describeLink,
  describeSkipped,
  describeTooDeep,
  isLooseText,
  isNearlySkillFile,
  type NotSkillFinding,
} from './describe-not-skill.ts'
import type { ClassifierOptions } from './entry-classifier.ts'
import { IGNORE_FILE_NAME } from './file-layout.ts'
import { type DirectoryNode, pathWithin } from './mirror.ts'
import type { NotSkill, NotSkillQuery, NotSkills } from './not-skill.ts'

export interface NotSkillFinderOptions
  extends Pick<
    ClassifierOptions,
    'fileSystem' | 'limits' | 'layout' | 'symlinks' | 'nestedSkills' | 'displayPath'
  > {
  readonly label: string
  readonly reading: Partial<ReadingPolicy>
  /** Absolute path of the root. */
  readonly root: string
}

/** Maximum number of folders that one search lists. */
const MAX_LISTED = 2_000
/** Maximum number of texts that one search reads to find skill names. */
const MAX_READ = 500

/**
 * Finds files and folders of a source that are not skills. The finder reads the disk only on request and only outside
 * of skills. If a folder contains ten thousand skills, the finder lists only that folder and none of the skill folders.
 */
export class NotSkillFinder {
  readonly #options: NotSkillFinderOptions
  readonly #query: NotSkillQuery
  readonly #insideFolders: readonly string[]
  /** Folders that contain skills at any depth. */
  readonly #categories = new Set<string>()
  readonly #found = new Map<string, NotSkill>()
  #listed = 0
  #read = 0
  #isComplete = true

  /** `locations` are the folders of all skills of the source. */
  constructor(
    options: NotSkillFinderOptions,
    {
      query,
      locations,
      insideFolders,
    }: { query: NotSkillQuery; locations: Iterable<string>; insideFolders: readonly string[] },
  ) {
    this.#options = options
    this.#query = query
    this.#insideFolders = insideFolders
    for (const location of locations) this.#addCategories(location)
  }

  async find(root: DirectoryNode): Promise<NotSkills> {
    const folders = [root]
    for (const node of folders) {
      if (node.skillFile === undefined) folders.push(...(await this.#lookAtFolder(node)))
      else await this.#lookIntoSkill(node)
    }
    const found = [...this.#found.values()].sort((a, b) => compareText(a.location, b.location))
    return { found, isComplete: this.#isComplete }
  }

  #addCategories(location: string): void {
    for (let at = location.lastIndexOf('/'); at > 0; at = location.lastIndexOf('/', at - 1)) {
      const folder = location.slice(0, at)
      if (this.#categories.has(folder)) return
      this.#categories.add(folder)
    }
  }

  /** Examines a folder outside of skills. Returns the subfolders that the mirror knows. */
  async #lookAtFolder(node: DirectoryNode): Promise<readonly DirectoryNode[]> {
    const entries = await this.#list(node.path)
    if (entries === undefined) return []
    const { layout } = this.#options
    const isThere = (name: string): boolean =>
      entries.some(entry => entry.name === name && entry.kind !== 'directory')
    // If the SKILL.md appeared after the last scan, the next scan serves the folder as a skill.
    if (layout.findSkillFile(isThere, node.depth) !== undefined && node.isDiscoverable) return []
    if (node.parent !== undefined) {
      const isCategory = this.#categories.has(normalize(node.path))
      const isExpected = node.parent.parent === undefined || this.#categories.has(normalize(node.parent.path))
      const finding = describeFolder(entries, this.#skillFile, { isCategory, isExpected })
      const text = entries.find(({ name, kind }) => kind === 'file' && isNearlySkillFile(name))?.name
      await this.#add(
        node.path,
        finding,
        finding.reason === 'misnamed' && text !== undefined ? `${node.path}/${text}` : undefined,
      )
    }
    const inner: DirectoryNode[] = []
    for (const entry of entries) {
      const child = node.directories.get(entry.name)
      if (child?.isStandalone === true) continue
      if (child === undefined) await this.#lookAtEntry(node, entry)
      else if (child.skillFile === undefined || child.ignored !== undefined) inner.push(child)
    }
    return inner
  }

  /** Examines an entry that the mirror left out. */
  async #lookAtEntry(parent: DirectoryNode, { name, kind }: DirectoryEntry): Promise<void> {
    const { layout, limits, symlinks } = this.#options
    const path = toPath(parent.path, name)
    const depth = parent.depth + 1
    if (kind === 'other' || name.includes('\uFFFD')) return
    if (kind === 'file') {
      const isExpected =
        depth === 1 && !layout.hasStandaloneFiles && (isLooseText(name) || isNearlySkillFile(name))
      // If a file in a subfolder resembles SKILL.md, the finding about the subfolder already names the file.
      if (isExpected || (this.#isAskedFor(path) && !isNearlySkillFile(name)))
        await this.#add(path, describeFile(name, this.#skillFile, isExpected), path)
      return
    }
    const skip = layout.findSkip(name, depth)
    if (isNeverRead(name)) await this.#add(path, describeSkipped(name, false))
    else if (skip !== undefined) await this.#lookIntoSkipped(path, skip, kind)
    else if (kind === 'link') {
      const isTold = parent.findings.some(finding => finding.path === this.#options.displayPath(path))
      await this.#add(path, describeLink(symlinks === 'deny', !isTold && (await this.#isFolder(path))))
    } else if (depth > limits.maxDiscoveryDepth) {
      const text = await this.#findText(path)
      await this.#add(path, describeTooDeep(depth, limits.maxDiscoveryDepth, text !== undefined), text)
    }
  }

  /** A person may have put skills aside in a folder that a pattern such as `_*` skips, but never in `node_modules`. */
  async #lookIntoSkipped(path: string, skip: string, kind: FileKind): Promise<void> {
    if (!skip.includes('*') || kind !== 'directory') {
      await this.#add(path, describeSkipped(skip, false))
      return
    }
    const text = await this.#findText(path)
    await this.#add(path, describeSkipped(skip, text !== undefined), text)
    if (text !== undefined) return
    for (const { name, kind } of (await this.#list(path)) ?? []) {
      if (kind !== 'directory') continue
      const inner = await this.#findText(`${path}/${name}`)
      if (inner !== undefined) await this.#add(`${path}/${name}`, describeInSkipped(skip, path), inner)
    }
  }

  /** Finds skills that the `.skillignore` of an enclosing skill excludes. */
  async #lookIntoSkill(skill: DirectoryNode): Promise<void> {
    const rules = skill.ignored?.rules
    if (rules === undefined || !this.#options.nestedSkills) return
    const ignoreFile = this.#options.displayPath(toPath(skill.path, IGNORE_FILE_NAME))
    const folders = [skill]
    for (const node of folders) {
      folders.push(...node.directories.values())
      const within = pathWithin(skill, node)
      for (const { name, kind } of (await this.#list(node.path)) ?? []) {
        if (kind !== 'directory' || !rules(toPath(within, name), true)) continue
        const path = toPath(node.path, name)
        const text = await this.#findText(path)
        if (text !== undefined) await this.#add(path, describeIgnored(ignoreFile), text)
      }
    }
  }

  async #add(path: string, finding: NotSkillFinding, text?: string): Promise<void> {
    const location = normalize(path)
    const skillName = text === undefined ? undefined : await this.#readName(text)
    this.#found.set(location, {
      source: this.#options.label,
      location,
      path: this.#options.displayPath(path),
      ...finding,
      ...(skillName === undefined ? {} : { skillName }),
    })
  }

  async #readName(path: string): Promise<string | undefined> {
    const { fileSystem, limits, reading } = this.#options
    if (this.#query.withNames !== true || this.#read++ >= MAX_READ) return undefined
    try {
      const options = { inside: this.#insideFolders, maxBytes: limits.maxSkillFileBytes }
      const { bytes } = await fileSystem.read(this.#absolute(path), options)
      const parsed = parseSkill(bytes, { limits, policy: reading })
      return parsed.ok ? parsed.value.name : undefined
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return undefined // unreadable, so it has no name
      throw thrown
    }
  }

  /** Returns the path of the SKILL.md that would make a folder a skill. */
  async #findText(path: string): Promise<string | undefined> {
    const entries = await this.#list(path)
    const name = this.#options.layout.fileNames.find(each =>
      entries?.some(entry => entry.name === each && entry.kind === 'file'),
    )
    return name === undefined ? undefined : toPath(path, name)
  }

  /** Lists a folder. Returns `undefined` if the folder cannot be listed or the limit is reached. */
  async #list(path: string): Promise<readonly DirectoryEntry[] | undefined> {
    const { fileSystem } = this.#options
    this.#query.signal?.throwIfAborted()
    if (this.#listed >= MAX_LISTED) {
      this.#isComplete = false
      return undefined
    }
    this.#listed++
    await fileSystem.pace?.()
    try {
      return await fileSystem.list(this.#absolute(path))
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return undefined // removed or unreadable; the source itself reports it
      throw thrown
    }
  }

  async #isFolder(path: string): Promise<boolean> {
    try {
      return (await this.#options.fileSystem.stat(this.#absolute(path))).kind === 'directory'
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return false // a broken link
      throw thrown
    }
  }

  #isAskedFor(path: string): boolean {
    return this.#query.location === normalize(path)
  }

  get #skillFile(): string {
    return this.#options.layout.fileNames[0] ?? 'SKILL.md'
  }

  #absolute(path: string): string {
    const { root } = this.#options
    return path === '' ? root : root === '/' ? `/${path}` : `${root}/${path}`
  }
}

function toPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

function normalize(path: string): string {
  return path.normalize('NFC')
}
