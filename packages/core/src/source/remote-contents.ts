import { toMessage } from '../errors.ts'
import { mapConcurrently } from '../fs/walk.ts'
import { quote } from '../quote.ts'
import { compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { digestOf } from '../skill/digest.ts'
import { leaveOutFiles } from '../skill/left-out.ts'
import type { SkillFile } from '../skill/manifest.ts'
import { readFrontmatter } from '../skill/read-frontmatter.ts'
import type { SkillPlace } from '../skill/skill.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { ClassifierOptions } from './entry-classifier.ts'
import {
  checkPaths,
  checkTotals,
  describeFileFault,
  describeKey,
  findInTexts,
  type MadeSkill,
  makeSkill,
  nameOf,
  type ReadBytes,
  storeFile,
  toEntry,
} from './make-skill.ts'
import { joinPath } from './mirror.ts'
import type { SourceReadContext } from './skill-source.ts'
import type { FileTree, ListedSkill } from './tree-fetcher.ts'
import { findTreeSkills, readTreeFile, type TreeFolders, type TreeSkill, toFolders } from './tree-skills.ts'

export interface RemoteContentsOptions extends ClassifierOptions {
  readonly label: string
  readonly origin: string
}

type Context = Pick<SourceReadContext, 'store' | 'hasher' | 'signal'>

/** What was found in the files of a tree. */
interface FoundSkills {
  readonly tree: FileTree | undefined
  readonly folders: TreeFolders
  readonly skills: ReadonlyMap<string, TreeSkill>
  readonly findings: readonly Diagnostic[]
}

/** An entry, with the values from which it was made. */
interface MadeEntry {
  readonly skill: TreeSkill | ListedSkill
  /** Whether the store has all files. Always looked at again if a file of the tree could not be read. */
  readonly isStored: boolean
  readonly fault: Diagnostic | undefined
  readonly entry: SourceEntry
}

/** A skill that was read from its files or from its list. */
type ReadSkill = MadeSkill & Pick<MadeEntry, 'isStored'>

const encoder = new TextEncoder()
const READINGS = 16
const RETRIEVALS = 4

/**
 * The contents of a remote source, made straight from a tree. The files of the tree are stored before a skill becomes
 * visible. The files of a listed skill are retrieved on demand: until then, its metadata comes from the list, and its
 * revision is the same before and after.
 */
export class RemoteContents {
  readonly #options: RemoteContentsOptions
  /** The newest tree. */
  #newest: FileTree | undefined
  /** The tree that is served. */
  #tree: FileTree | undefined
  #found: FoundSkills = { tree: undefined, folders: new Map(), skills: new Map(), findings: [] }
  /** The listed skills by location, with the files that were retrieved since the fetch. */
  #listed: ReadonlyMap<string, ListedSkill> = new Map()
  #made: ReadonlyMap<string, MadeEntry> = new Map()
  /** The store from which the entries were made. */
  #store: SkillStore | undefined
  #shown: SourceContents = EMPTY_CONTENTS
  /** Why the files of a skill could not be retrieved, by location. */
  readonly #faults = new Map<string, Diagnostic>()
  readonly #wanted = new Set<string>()

  constructor(options: RemoteContentsOptions) {
    this.#options = options
  }

  get tree(): FileTree | undefined {
    return this.#tree
  }

  /** The newest tree, with the files of listed skills that were retrieved since the fetch. */
  get newest(): FileTree | undefined {
    if (this.#newest !== this.#tree || this.#tree?.listed === undefined) return this.#newest
    return { ...this.#tree, listed: [...this.#listed.values()] }
  }

  /** The folders of the tree. */
  get folders(): TreeFolders {
    return this.#found.folders
  }

  /** Finds a skill whose files are in the tree. */
  find(location: string): TreeSkill | undefined {
    return this.#found.skills.get(location)
  }

  get shown(): SourceContents {
    return this.#shown
  }

  /** Keeps a tree until the next reading. */
  put(tree: FileTree): void {
    this.#newest = tree
  }

  /** Forgets why skills could not be retrieved. */
  forgetFaults(): void {
    this.#faults.clear()
  }

  /** Requests the files of a skill, because the store has lost some of its bytes. */
  want(location: string): void {
    this.#wanted.add(location)
  }

  /** Requests the listed files of the skills at some locations, if the store does not have them. */
  wantMissing(isAsked: (location: string) => boolean, store: SkillStore): void {
    this.#take()
    for (const [location, { files }] of this.#listed)
      if (files.length > 0 && !areStored(files, store) && isAsked(location)) this.want(location)
  }

  /** Returns the locations of the requested skills, and ends their requests. */
  takeWanted(): readonly string[] {
    if (this.#wanted.size === 0) return []
    this.#take()
    const wanted = [...this.#wanted]
    this.#wanted.clear()
    // The next reading makes the skills whose files are in the tree again.
    const isWanted = new Set(wanted)
    const toUnstored = ([location, made]: readonly [string, MadeEntry]) =>
      [location, isWanted.has(location) ? { ...made, isStored: false } : made] as const
    this.#made = new Map([...this.#made].map(toUnstored))
    return wanted.filter(location => this.#listed.has(location))
  }

  /**
   * Retrieves listed skills, at most four at the same time. Returns the locations of the skills that could not be
   * retrieved. The entry of such a skill has a diagnostic with the reason.
   */
  async retrieve(
    locations: readonly string[],
    retrieve: (skill: ListedSkill) => Promise<ListedSkill>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    this.#take()
    const failed: string[] = []
    const skills = new Map(this.#listed)
    const retrieveOne = async (location: string): Promise<void> => {
      const skill = skills.get(location)
      try {
        if (skill !== undefined) skills.set(location, await retrieve(skill))
        this.#faults.delete(location)
      } catch (thrown) {
        signal.throwIfAborted()
        failed.push(location)
        this.#faults.set(location, describeRetrieval(thrown))
      }
    }
    await mapConcurrently(locations, retrieveOne, RETRIEVALS, signal)
    this.#listed = skills
    return failed
  }

  /** Reads the newest tree. If nothing changed since the last reading, returns the same contents. */
  async read(context: Context, notices: readonly Diagnostic[]): Promise<SourceContents> {
    this.#take()
    if (this.#tree !== undefined && this.#tree !== this.#found.tree)
      this.#found = await this.#find(this.#tree, context.signal)
    if (this.#store !== context.store) this.#made = new Map()
    this.#store = context.store
    const make = async ([location, skill]: readonly [string, TreeSkill | ListedSkill]) =>
      [location, await this.#make(location, skill, context)] as const
    const skills = [...this.#found.skills, ...this.#listed]
    this.#made = new Map(await mapConcurrently(skills, make, READINGS, context.signal))
    const entries = [...this.#made.values()].map(({ entry }) => entry)
    entries.sort((a, b) => compareText(a.location, b.location))
    const diagnostics = [...this.#found.findings, ...notices]
    const before = this.#shown
    const isSame =
      entries.length === before.entries.length &&
      entries.every((entry, index) => entry === before.entries[index]) &&
      JSON.stringify(diagnostics) === JSON.stringify(before.diagnostics)
    if (!isSame) this.#shown = Object.freeze({ entries, diagnostics })
    return this.#shown
  }

  /** Begins to serve the newest tree. */
  #take(): void {
    if (this.#tree === this.#newest) return
    this.#tree = this.#newest
    this.#listed = new Map(this.#tree?.listed?.map(skill => [skill.location, skill]))
    this.forgetFaults()
  }

  async #find(tree: FileTree, signal: AbortSignal): Promise<FoundSkills> {
    const { folders, refused } = toFolders(tree.files)
    const { skills, findings } = await findTreeSkills(folders, this.#options, signal)
    return {
      ...{ tree, folders },
      skills: new Map(skills.map(skill => [skill.path.normalize('NFC'), skill])),
      findings: [...findings, ...refused.map(path => describeRefused(path, this.#options.origin))],
    }
  }

  async #make(location: string, skill: TreeSkill | ListedSkill, context: Context): Promise<MadeEntry> {
    const before = this.#made.get(location)
    const fault = this.#faults.get(location)
    const isListed = 'frontmatter' in skill
    const isStored = !isListed || (skill.files.length > 0 && areStored(skill.files, context.store))
    if (before !== undefined && before.isStored === isStored && before.fault === fault) {
      if (before.skill === skill) return before
      if (JSON.stringify(before.skill) === JSON.stringify(skill)) return { ...before, skill }
    }
    const { label } = this.#options
    const { skillFile } = skill
    const place = { source: label, location, skillFile }
    const made = isListed
      ? await this.#readListed(place, skill, { ...context, isStored, fault })
      : await this.#readFiles(place, skill, context)
    if (made.skill !== undefined && made.isStored)
      context.store.putTree(made.skill.revision, made.skill.files)
    const entry = toEntry(place, before?.entry.name ?? (nameOf(place) || label), made)
    const isSame = JSON.stringify(before?.entry) === JSON.stringify(entry)
    return { skill, fault, isStored: made.isStored, entry: isSame ? (before as MadeEntry).entry : entry }
  }

  /** Reads and stores the files of a skill that are in the tree. */
  async #readFiles(place: SkillPlace, skill: TreeSkill, context: Context): Promise<ReadSkill> {
    const { limits, reading, displayPath } = this.#options
    const { path, skillFile, isStandalone } = skill
    const folder = isStandalone ? '' : path
    const toPath = (within: string): string => displayPath(joinPath(folder, within))
    const found = [...skill.found]
    const files = checkPaths(skill.files, found)
    const { length } = found
    checkTotals(files, limits, found, toPath(''))
    const read: (ReadBytes & Pick<SkillFile, 'isExecutable'>)[] = []
    let isStored = true
    for (const file of found.length > length ? [] : files) {
      const isSkillFile = file.path === skillFile
      const shownPath = toPath(file.path)
      try {
        const maxBytes = isSkillFile ? limits.maxSkillFileBytes : limits.maxFolderBytes
        const bytes = await readTreeFile(file, maxBytes, context.signal)
        const key = describeKey({ path: file.path, bytes }, reading, shownPath)
        if (key !== undefined) found.push(key)
        if (key === undefined || reading.secretFiles === 'include') read.push({ ...file, bytes })
      } catch (thrown) {
        context.signal.throwIfAborted()
        isStored &&= file.kind !== 'file'
        found.push(describeFileFault({ path: file.path, isSkillFile, shownPath }, thrown, limits))
      }
    }
    const rules = { hasher: context.hasher, limits, reading, displayPath: toPath }
    found.push(...findInTexts(read, skillFile, rules))
    const text = read.find(each => each.path === skillFile)?.bytes
    const directoryName = isStandalone ? path.replace(/\.md$/i, '') : undefined
    const listFiles = (): SkillFile[] => read.map(file => storeFile(file, context))
    return { ...makeSkill(place, text, listFiles, found, { ...rules, directoryName }), isStored }
  }

  /** Makes the entry of a listed skill from its files if they are stored, and otherwise from the list. */
  async #readListed(
    place: SkillPlace,
    { skillFile, frontmatter, ...listed }: ListedSkill,
    { store, hasher, isStored, fault }: Context & Pick<MadeEntry, 'isStored' | 'fault'>,
  ): Promise<ReadSkill> {
    const { limits, reading } = this.#options
    const rules = { hasher, limits, reading }
    const found: Diagnostic[] = fault === undefined ? [] : [fault]
    const head = encoder.encode(`---\n${JSON.stringify(frontmatter)}\n---\n`)
    const unknown = { path: skillFile, digest: digestOf(head, hasher), size: 0, isExecutable: false }
    const files = checkPaths(listed.files.length === 0 ? [Object.freeze(unknown)] : listed.files, found)
    // The bytes are retrieved later, and the revision must not change then, so only names decide.
    const kept = leaveOutFiles(files, reading.secretFiles === 'include', () => undefined, found)
    checkTotals(kept, limits, found)
    const bytes = isStored ? await readStored(files, store) : undefined
    const text = bytes?.find(({ path }) => path === skillFile)?.bytes
    found.push(...findInTexts(bytes ?? [], skillFile, rules))
    const own = kept.find(({ path }) => path === skillFile)
    const made = makeSkill(place, own && (text ?? head), () => kept, found, rules)
    const diagnostics = text === undefined ? made.diagnostics.flatMap(toListedFinding) : made.diagnostics
    const read = { diagnostics, isStored: bytes !== undefined }
    if (own === undefined || made.skill === undefined) return read
    // The list is not part of the revision, so its frontmatter counts only until the file is known.
    const known = text === undefined ? frontmatter : (readFrontmatter(text) ?? frontmatter)
    const skill = Object.freeze({
      ...{ ...made.skill, diagnostics },
      // Retrieving the files of an honest list does not change these two digests.
      frontmatterDigest: digestOf(JSON.stringify(known), hasher),
      bodyDigest: own.digest,
      ...(text === undefined ? { listedFrontmatter: frontmatter } : {}),
    })
    return { ...read, skill }
  }
}

function areStored(files: readonly SkillFile[], store: SkillStore): boolean {
  return files.every(({ digest }) => store.has(digest))
}

async function readStored(
  files: readonly SkillFile[],
  store: SkillStore,
): Promise<readonly ReadBytes[] | undefined> {
  const read: ReadBytes[] = []
  for (const { path, digest } of files) {
    const bytes = await store.get(digest)
    if (bytes === undefined) return undefined
    read.push({ path, bytes })
  }
  return read
}

function describeRefused(path: string, origin: string): Diagnostic {
  return {
    code: 'FILE_SKIPPED',
    severity: 'warning',
    message: `the path ${quote(path)} leads outside its folder or collides with another; the file was left out`,
    path: origin,
    fix: 'remove or rename the file at its origin',
  }
}

/** Adapts a finding about the frontmatter of a list: it has no lines, and the instructions are not part of the list. */
function toListedFinding({ line: _line, column: _column, ...finding }: Diagnostic): readonly Diagnostic[] {
  return finding.code === 'BODY_EMPTY' ? [] : [finding]
}

function describeRetrieval(thrown: unknown): Diagnostic {
  return {
    code: 'FILE_UNREADABLE',
    severity: 'warning',
    message: `the files could not be retrieved: ${toMessage(thrown)}`,
    fix: 'check the origin, then load the skill again',
  }
}
