import { toMessage } from '../errors.ts'
import type { ListedSkill } from '../fs/file-tree.ts'
import { mapConcurrently } from '../fs/walk.ts'
import type { Hasher } from '../host.ts'
import { compareText } from '../skill/compare.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import { digestOf } from '../skill/digest.ts'
import { leaveOutFiles } from '../skill/left-out.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { type SkillFile, sortFiles } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import { readFrontmatter } from '../skill/read-frontmatter.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { createSkill, type Skill } from '../skill/skill.ts'
import { findPathFault } from '../skill/skill-path.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { checkTotals, describeBadPath, describeSkillFileMissing, findInTexts } from './capture-skill.ts'

export interface ListedSkillsOptions {
  readonly label: string
  readonly limits?: Partial<SkillLimits>
  readonly reading?: Partial<ReadingPolicy>
}

interface Context {
  readonly store: SkillStore
  readonly hasher: Hasher
}

/** An entry, with the values from which it was made. */
interface MadeEntry {
  readonly listed: ListedSkill
  readonly isStored: boolean
  readonly fault: Diagnostic | undefined
  readonly entry: SourceEntry
}

const encoder = new TextEncoder()
const CONCURRENCY = 4

/**
 * The skills of a source that lists skills before it retrieves their files. Until the files are retrieved, the metadata
 * comes from the list, and the store has no bytes. The revision is the same before and after.
 */
export class ListedSkills {
  readonly #options: ListedSkillsOptions
  readonly #limits: SkillLimits
  #skills: ReadonlyMap<string, ListedSkill> = new Map()
  #made = new Map<string, MadeEntry>()
  /** Why the files of a skill could not be retrieved, by location. */
  readonly #faults = new Map<string, Diagnostic>()
  readonly #wanted = new Set<string>()
  #shown: readonly SourceEntry[] = []

  constructor(options: ListedSkillsOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
  }

  has(location: string): boolean {
    return this.#skills.has(location)
  }

  /** Whether the files of a skill are to be retrieved. */
  get isWanted(): boolean {
    return this.#wanted.size > 0
  }

  /** Requests the files of a skill. */
  want(location: string): void {
    this.#wanted.add(location)
  }

  /** Requests the files of the skills at some locations, if the store does not have them. */
  wantMissing(isAsked: (location: string) => boolean, store: SkillStore): void {
    for (const [location, listed] of this.#skills)
      if (listed.files.length > 0 && !areStored(listed, store) && isAsked(location)) this.want(location)
  }

  /** Replaces the whole list. */
  replace(skills: readonly ListedSkill[]): void {
    this.#skills = new Map(skills.map(skill => [skill.location, skill]))
    this.forgetFaults()
  }

  /** Lists all skills, including skills that were retrieved after the last `replace()`. */
  list(): readonly ListedSkill[] {
    return [...this.#skills.values()]
  }

  /** Forgets why skills could not be retrieved. */
  forgetFaults(): void {
    this.#faults.clear()
  }

  /** Returns the locations of the requested skills, and ends their requests. */
  takeWanted(): readonly string[] {
    const wanted = [...this.#wanted]
    this.#wanted.clear()
    return wanted
  }

  /**
   * Retrieves skills, at most four at the same time. Returns the locations of the skills that could not be retrieved. The
   * entry of such a skill has a diagnostic with the reason.
   */
  async retrieve(
    locations: readonly string[],
    retrieve: (skill: ListedSkill) => Promise<ListedSkill>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const failed: string[] = []
    const skills = new Map(this.#skills)
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
    await mapConcurrently(locations, retrieveOne, CONCURRENCY, signal)
    this.#skills = skills
    return failed
  }

  /** Returns the entries, sorted by location. If nothing changed, returns the same array. */
  async read(context: Context): Promise<readonly SourceEntry[]> {
    const made = new Map<string, MadeEntry>()
    for (const [location, listed] of this.#skills)
      made.set(location, await this.#make(listed, this.#made.get(location), context))
    const isSame =
      made.size === this.#made.size &&
      [...made].every(([location, { entry }]) => this.#made.get(location)?.entry === entry)
    this.#made = made
    if (!isSame)
      this.#shown = [...made.values()]
        .map(({ entry }) => entry)
        .sort((a, b) => compareText(a.location, b.location))
    return this.#shown
  }

  async #make(listed: ListedSkill, before: MadeEntry | undefined, context: Context): Promise<MadeEntry> {
    const { store } = context
    const fault = this.#faults.get(listed.location)
    const isStored = listed.files.length > 0 && areStored(listed, store)
    if (before !== undefined && before.isStored === isStored && before.fault === fault) {
      if (before.listed === listed) return before
      if (JSON.stringify(before.listed) === JSON.stringify(listed)) return { ...before, listed }
    }
    const bytes = isStored ? await readAll(listed.files, store) : undefined
    const entry = this.#toEntry(listed, bytes, fault, context)
    return { listed, isStored: bytes !== undefined, fault, entry }
  }

  #toEntry(
    listed: ListedSkill,
    stored: ReadonlyMap<string, Uint8Array> | undefined,
    fault: Diagnostic | undefined,
    { store, hasher }: Context,
  ): SourceEntry {
    const { location, skillFile, frontmatter } = listed
    const found: Diagnostic[] = fault === undefined ? [] : [fault]
    const head = encoder.encode(`---\n${JSON.stringify(frontmatter)}\n---\n`)
    const files =
      listed.files.length === 0
        ? [Object.freeze({ path: skillFile, digest: digestOf(head, hasher), size: 0, isExecutable: false })]
        : this.#check(listed.files, found)
    const own = files.find(({ path }) => path === skillFile)
    if (own === undefined) found.push(describeSkillFileMissing(skillFile))
    const directoryName = location.slice(location.lastIndexOf('/') + 1)
    const text = stored?.get(skillFile)
    const parsed = parseSkill(text ?? head, {
      ...(directoryName === '' ? {} : { directoryName }),
      limits: this.#limits,
      ...(this.#options.reading === undefined ? {} : { policy: this.#options.reading }),
    })
    const diagnostics = [
      ...(text === undefined ? parsed.diagnostics.flatMap(toListedFinding) : parsed.diagnostics),
      ...found,
      ...findInTexts(stored ?? new Map(), skillFile, this.#limits),
    ]
    if (!parsed.ok || own === undefined || diagnostics.some(isError))
      return Object.freeze({ location, name: directoryName, skillFile, diagnostics })
    const place = { source: this.#options.label, location, skillFile }
    // The list is not part of the revision, so its frontmatter counts only until the file is known.
    const known = text === undefined ? frontmatter : (readFrontmatter(text) ?? frontmatter)
    const skill: Skill = Object.freeze({
      ...createSkill(parsed.value, files, place, diagnostics, hasher),
      // Retrieving the files of an honest list does not change these two digests.
      frontmatterDigest: digestOf(JSON.stringify(known), hasher),
      bodyDigest: own.digest,
      ...(text === undefined ? { listedFrontmatter: frontmatter } : {}),
    })
    if (stored !== undefined) store.putTree(skill.revision, skill.files)
    return Object.freeze({ location, name: skill.name, skillFile, skill, diagnostics })
  }

  /** Returns the files with valid paths, sorted. */
  #check(files: readonly SkillFile[], found: Diagnostic[]): readonly SkillFile[] {
    const checked = new Map<string, SkillFile>()
    for (const file of files) {
      const reason = findPathFault(file.path)
      if (reason === undefined) {
        const path = file.path.normalize('NFC')
        checked.set(path, Object.freeze({ ...file, path }))
      } else found.push(describeBadPath(file.path, reason))
    }
    // The bytes are retrieved later, and the revision must not change then, so only names decide.
    const includesSecrets = this.#options.reading?.secretFiles === 'include'
    const kept = sortFiles(leaveOutFiles([...checked.values()], includesSecrets, () => undefined, found))
    const bytes = kept.reduce((sum, { size }) => sum + size, 0)
    checkTotals({ files: kept.length, bytes }, this.#limits, found)
    return kept
  }
}

function areStored({ files }: ListedSkill, store: SkillStore): boolean {
  return files.every(({ digest }) => store.has(digest))
}

async function readAll(
  files: readonly SkillFile[],
  store: SkillStore,
): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
  const contents = new Map<string, Uint8Array>()
  for (const { path, digest } of files) {
    const bytes = await store.get(digest)
    if (bytes === undefined) return undefined
    contents.set(path.normalize('NFC'), bytes)
  }
  return contents
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
