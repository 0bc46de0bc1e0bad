import { defined } from '../defined.ts'
import { unlessFailed } from '../errors.ts'
import type { Awaitable, DirectoryEntry, FileKind } from '../fs/file-system.ts'
import { compareText } from '../skill/compare.ts'
import { pathsAbove } from '../skill/left-out.ts'
import { findLeftOutKind, isNeverRead } from '../skill/left-out-names.ts'
import { parseIgnoreFile } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceContents, SourceEntry } from '../skill/source-contents.ts'
import { decodeUnmarkedText } from '../skill/text.ts'
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
import { joinPath } from './mirror.ts'
import type { NotSkill, NotSkillQuery, NotSkills } from './not-skill.ts'

/** The folders and files of a source. All paths are relative to its root. */
export interface SearchedFolders extends ClassifierOptions {
  readonly label: string
  readonly reading: Partial<ReadingPolicy>
  /** @throws {SkillError} if nothing can be listed at the path */
  readonly list: (path: string) => Awaitable<readonly DirectoryEntry[]>
  /** @throws {SkillError} if the file cannot be read */
  readonly read: (path: string, maxBytes: number) => Awaitable<Uint8Array>
  /** Whether a link leads to a folder. */
  readonly isFolder: (path: string) => Awaitable<boolean>
}

/** Maximum number of folders that one search lists. */
const MAX_LISTED = 2_000
/** Maximum number of texts that one search reads to find skill names. */
const MAX_READ = 500

/**
 * Finds files and folders that a person may have meant to be skills. The search reads the source only on request and only
 * outside of skills. If a folder contains ten thousand skills, the search lists only that folder and none of the skill
 * folders.
 */
export async function findNotSkills(
  folders: SearchedFolders,
  contents: SourceContents,
  query: NotSkillQuery,
): Promise<NotSkills> {
  return await new Search(folders, contents, query).find()
}

class Search {
  readonly #folders: SearchedFolders
  readonly #query: NotSkillQuery
  readonly #skills: ReadonlyMap<string, SourceEntry>
  /** Folders that contain skills at any depth. */
  readonly #categories: ReadonlySet<string>
  /** Paths about which the source has a finding. */
  readonly #told: ReadonlySet<string | undefined>
  readonly #found: NotSkill[] = []
  #listed = 0
  #read = 0

  constructor(folders: SearchedFolders, { entries, diagnostics }: SourceContents, query: NotSkillQuery) {
    this.#folders = folders
    this.#query = query
    this.#skills = new Map(entries.map(entry => [entry.location, entry]))
    this.#categories = new Set(entries.flatMap(({ location }) => pathsAbove(location).slice(0, -1)))
    this.#told = new Set(diagnostics.map(({ path }) => path))
  }

  async find(): Promise<NotSkills> {
    const root = this.#skills.get('')
    const waiting = root === undefined ? [''] : []
    if (root !== undefined) await this.#lookIntoSkill(root)
    for (const path of waiting) waiting.push(...(await this.#lookAtFolder(path)))
    const found = this.#found.sort((a, b) => compareText(a.location, b.location))
    return { found, isComplete: this.#listed <= MAX_LISTED }
  }

  /** Looks at a folder outside of skills. Returns the folders in which skills may be. */
  async #lookAtFolder(path: string): Promise<readonly string[]> {
    const { layout } = this.#folders
    const entries = await this.#list(path)
    if (entries === undefined) return []
    const isThere = (name: string): boolean =>
      entries.some(entry => entry.name === name && entry.kind !== 'directory')
    // If the SKILL.md appeared after the last scan, the next scan serves the folder as a skill.
    if (layout.findSkillFile(isThere, depthOf(path)) !== undefined) return []
    if (path !== '') await this.#addFolder(path, entries)
    const inner: string[] = []
    for (const entry of entries) {
      const inside = joinPath(path, entry.name)
      const skill = this.#skills.get(inside.normalize('NFC'))
      if (skill !== undefined) await this.#lookIntoSkill(skill)
      else if (await this.#lookAtEntry(inside, entry)) inner.push(inside)
    }
    return inner
  }

  async #addFolder(path: string, entries: readonly DirectoryEntry[]): Promise<void> {
    const location = path.normalize('NFC')
    const parent = location.slice(0, Math.max(0, location.lastIndexOf('/')))
    const isExpected = parent === '' || this.#categories.has(parent)
    const isCategory = this.#categories.has(location)
    const finding = describeFolder(entries, this.#skillFile, { isCategory, isExpected })
    const text = entries.find(({ name, kind }) => kind === 'file' && isNearlySkillFile(name))?.name
    const isNear = finding.reason === 'misnamed' && text !== undefined
    await this.#add(path, finding, isNear ? joinPath(path, text) : undefined)
  }

  /** Looks at an entry outside of skills. Returns whether it is a folder in which skills may be. */
  async #lookAtEntry(path: string, { name, kind }: DirectoryEntry): Promise<boolean> {
    const { layout, limits } = this.#folders
    const depth = depthOf(path)
    if (kind === 'other' || name.includes('\uFFFD')) return false
    if (kind === 'file') {
      const isExpected =
        depth === 1 && !layout.hasStandaloneFiles && (isLooseText(name) || isNearlySkillFile(name))
      // If a file in a subfolder resembles SKILL.md, the finding about the subfolder already names the file.
      if (isExpected) await this.#add(path, describeFile(name, this.#skillFile), path)
      return false
    }
    const skip = layout.findSkip(name, depth)
    if (isNeverRead(name)) await this.#add(path, describeSkipped(name, false))
    else if (skip !== undefined) await this.#lookIntoSkipped(path, skip, kind)
    else if (kind === 'link' && !(await this.#isFollowed(path))) return false
    else if (depth <= limits.maxDiscoveryDepth) return true
    else {
      const text = await this.#findText(path)
      await this.#add(path, describeTooDeep(depth, limits.maxDiscoveryDepth, text !== undefined), text)
    }
    return false
  }

  async #isFollowed(path: string): Promise<boolean> {
    const { symlinks, displayPath } = this.#folders
    const isExpected = !this.#told.has(displayPath(path)) && (await this.#folders.isFolder(path))
    if (symlinks !== 'deny' && isExpected) return true
    await this.#add(path, describeLink(symlinks === 'deny', isExpected))
    return false
  }

  /** A person may have put skills aside in a folder that a pattern such as `_*` skips, but never in `node_modules`. */
  async #lookIntoSkipped(path: string, skip: string, kind: FileKind): Promise<void> {
    const isSearched = skip.includes('*') && kind === 'directory'
    const text = isSearched ? await this.#findText(path) : undefined
    await this.#add(path, describeSkipped(skip, text !== undefined), text)
    if (!isSearched || text !== undefined) return
    for (const { name, kind: inner } of (await this.#list(path)) ?? []) {
      const innerText = inner === 'directory' ? await this.#findText(joinPath(path, name)) : undefined
      if (innerText !== undefined)
        await this.#add(joinPath(path, name), describeInSkipped(skip, path), innerText)
    }
  }

  /** Finds skills that the `.skillignore` of an enclosing skill excludes. */
  async #lookIntoSkill({ location, skill }: SourceEntry): Promise<void> {
    const { nestedSkills, limits, displayPath, read } = this.#folders
    if (!nestedSkills || skill?.files.some(({ path }) => path === IGNORE_FILE_NAME) !== true) return
    const ignoreFile = joinPath(location, IGNORE_FILE_NAME)
    const bytes = await unlessFailed(() => read(ignoreFile, limits.maxFrontmatterBytes))
    if (bytes === undefined) return
    const isIgnored = parseIgnoreFile(decodeUnmarkedText(bytes))
    const folders = ['']
    for (const folder of folders)
      for (const { name, kind } of (await this.#list(joinPath(location, folder))) ?? []) {
        const within = joinPath(folder, name)
        if (kind !== 'directory' || findLeftOutKind(name, true) !== undefined) continue
        const text = isIgnored(within, true) ? await this.#findText(joinPath(location, within)) : undefined
        if (text !== undefined)
          await this.#add(joinPath(location, within), describeIgnored(displayPath(ignoreFile)), text)
        else if (!isIgnored(within, true)) folders.push(within)
      }
  }

  async #add(path: string, finding: NotSkillFinding, text?: string): Promise<void> {
    const { label, displayPath } = this.#folders
    const skillName = text === undefined ? undefined : await this.#readName(text)
    const place = { source: label, location: path.normalize('NFC'), path: displayPath(path) }
    this.#found.push({ ...place, ...finding, ...defined({ skillName }) })
  }

  async #readName(path: string): Promise<string | undefined> {
    const { read, limits, reading } = this.#folders
    if (this.#query.withNames !== true || this.#read++ >= MAX_READ) return undefined
    const bytes = await unlessFailed(() => read(path, limits.maxSkillFileBytes))
    const parsed = bytes === undefined ? undefined : parseSkill(bytes, { limits, policy: reading })
    return parsed?.ok === true ? parsed.value.name : undefined
  }

  /** Returns the path of the SKILL.md that would make a folder a skill. */
  async #findText(path: string): Promise<string | undefined> {
    const entries = await this.#list(path)
    const name = this.#folders.layout.fileNames.find(each =>
      entries?.some(entry => entry.name === each && entry.kind === 'file'),
    )
    return name === undefined ? undefined : joinPath(path, name)
  }

  /** Lists a folder. Returns `undefined` if the folder cannot be listed or the limit is reached. */
  async #list(path: string): Promise<readonly DirectoryEntry[] | undefined> {
    this.#query.signal?.throwIfAborted()
    return ++this.#listed > MAX_LISTED ? undefined : await unlessFailed(() => this.#folders.list(path))
  }

  get #skillFile(): string {
    return this.#folders.layout.fileNames[0] ?? 'SKILL.md'
  }
}

function depthOf(path: string): number {
  return path === '' ? 0 : path.split('/').length
}
