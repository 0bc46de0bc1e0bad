import { SkillError, toMessage } from '../errors.ts'
import {
  type DirectoryEntry,
  type FileStat,
  type FileSystem,
  isPending,
  isSameInode,
  isSameStat,
  statIfThere,
} from '../fs/file-system.ts'
import { walkBreadthFirst } from '../fs/walk.ts'
import type { Clock } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { toDiagnostic } from '../skill/left-out.ts'
import { type ClassifierOptions, EntryClassifier, type EntryContext } from './entry-classifier.ts'
import { IGNORE_FILE_NAME } from './file-layout.ts'
import { followLink } from './follow-link.ts'
import type { FollowedLink } from './followed-links.ts'
import { isIgnoreFileUnchanged, updateIgnoreFile } from './ignore-files.ts'
import {
  attach,
  createDirectoryNode,
  createFileNode,
  type DirectoryNode,
  isInSkill,
  type ScanPass,
  subtree,
  takeOut,
  unwatch,
} from './mirror.ts'
import { hasRulesAbove, MOST_DIRECTORIES } from './noted-folder.ts'
import { describeBudget } from './source-failure.ts'

export interface ScannerOptions extends ClassifierOptions {
  readonly fileSystem: FileSystem
  readonly clock: Clock
  /** Returns the absolute path of a directory of the mirror. */
  readonly pathOf: (node: DirectoryNode) => string
  readonly onEvent: (node: DirectoryNode) => void
  /** Called when a working watch breaks, because events may have been lost. */
  readonly onWatchError: (error: Error) => void
  readonly isWatching: () => boolean
  /** Fills a new directory from its note. Returns the subdirectories, or `undefined` if the directory has no note. */
  readonly recall: (node: DirectoryNode) => readonly DirectoryNode[] | undefined
}

/**
 * How a directory is visited. `look`: the directory is listed again. `sweep`: the directory is listed again only if its
 * stat changed. `rehash`: nothing is trusted.
 */
export type VisitDepth = 'look' | 'sweep' | 'rehash'

/** The directories without a watch. */
export interface UnwatchedFolders {
  readonly count: number
  /** The error of the latest failed attempt to watch a directory. */
  readonly reason: string
}

// Two changes within this time may leave the stat unchanged (git calls such entries racy).
const RACY_WINDOW_MS = 2_000
/**
 * How long a folder stays a skill after its skill file vanished, in milliseconds. Some programs remove a file before
 * they write it again.
 */
export const SKILL_FILE_GRACE_MS = 1_000
/** Interval at which the scanner tries a refused watch again, because limits and permissions may change. */
const REFUSED_RETRY_MS = 10_000
/** A watch that breaks within this time counts as a watch that never worked. */
const WORKING_MS = 1_000
const CONCURRENCY = 16
const ENTRIES_PER_SLICE = 200

/**
 * Whether a file could change right after a read and still have the same stat. `readAt` is a time just before the read.
 */
export function isRacyStat(stat: FileStat, readAt: number): boolean {
  return readAt - Math.max(stat.mtimeMs, stat.ctimeMs) < RACY_WINDOW_MS
}

/** Updates the mirror of directories and file stats from the disk. Reads no skill. */
export class MirrorScanner {
  readonly #options: ScannerOptions
  readonly #classifier: EntryClassifier
  readonly #links = new Set<FollowedLink>()
  readonly #nodesWithFindings = new Set<DirectoryNode>()
  readonly #unwatched = new Set<DirectoryNode>()
  readonly #lost = new Set<DirectoryNode>()
  #refusal = ''
  #directories = 1
  #hasExceededBudget = false

  constructor(options: ScannerOptions) {
    this.#options = options
    this.#classifier = new EntryClassifier(options)
  }

  /** Forgets everything below a removed root. */
  reset(root: DirectoryNode): void {
    for (const node of subtree(root)) {
      node.isAttached = false
      unwatch(node)
    }
    this.#links.clear()
    this.#nodesWithFindings.clear()
    this.#unwatched.clear()
    this.#lost.clear()
    this.#directories = 1
    this.#hasExceededBudget = false
  }

  /** The followed links whose directories are still in the mirror. */
  links(): Generator<FollowedLink> {
    return keep(
      this.#links,
      ({ directory, file }) =>
        directory.isAttached && (file === undefined || directory.files.get(file.name) === file),
    )
  }

  /** The directories that cannot be watched and must be checked instead. */
  unwatched(): Generator<DirectoryNode> {
    return keep(this.#unwatched, node => node.isAttached && node.refusedAt !== undefined)
  }

  /** The folders of skills whose skill file is missing for a short time. */
  lost(): Generator<DirectoryNode> {
    return keep(this.#lost, node => node.isAttached && node.skillFileLostAt !== undefined)
  }

  /** Counts the directories without a watch and gives the reason; `undefined` if there are none. */
  describeUnwatched(): UnwatchedFolders | undefined {
    const count = [...this.unwatched()].length
    return count === 0 ? undefined : { count, reason: this.#refusal }
  }

  /** Returns findings about folders outside of skills and about the source as a whole. */
  sourceFindings(): Diagnostic[] {
    const findings: Diagnostic[] = []
    for (const node of this.#nodesWithFindings) {
      if (!node.isAttached || node.findings.length === 0) this.#nodesWithFindings.delete(node)
      else if (!isInSkill(node)) findings.push(...node.findings)
    }
    const { limits, displayPath } = this.#options
    if (this.#hasExceededBudget) findings.push(describeBudget(limits, displayPath('')))
    return findings
  }

  async scan(
    nodes: readonly DirectoryNode[],
    depth: VisitDepth,
    pass: ScanPass,
    signal: AbortSignal,
  ): Promise<void> {
    if (depth !== 'look') this.#hasExceededBudget = false
    const start = nodes.map(node => ({ node, depth }))
    await walkBreadthFirst(start, item => this.#visit(item.node, item.depth, pass), CONCURRENCY, signal)
  }

  /** Removes a directory and everything below it from the mirror. */
  detach(node: DirectoryNode, pass: ScanPass): void {
    if (!node.isAttached) return
    for (const each of subtree(node)) {
      each.isAttached = false
      unwatch(each)
      this.#directories--
      if (each.skillFile !== undefined) pass.removed.add(each.path)
      pass.affected.delete(each)
    }
    takeOut(node)
    if (node.parent !== undefined) this.#markChanged(node.parent, pass)
  }

  async #visit(
    node: DirectoryNode,
    depth: VisitDepth,
    pass: ScanPass,
  ): Promise<{ node: DirectoryNode; depth: VisitDepth }[]> {
    if (!node.isAttached) return []
    const { fileSystem, pathOf, clock } = this.#options
    const path = pathOf(node)
    if (node.isStandalone) {
      await this.#checkFiles(node, path, depth, pass)
      return []
    }
    const isRecalled = this.#recall(node, path, pass)
    let stat: FileStat
    try {
      const found = fileSystem.stat(path)
      stat = isPending(found) ? await found : found
      if (stat.kind !== 'directory') throw new SkillError('NOT_FOUND', `${path} is no longer a directory`)
    } catch (thrown) {
      return this.#fail(node, thrown, pass)
    }
    // The directory may be gone, or new rules may ignore it. In both cases, a concurrent visit has detached the node.
    if (!node.isAttached) return []
    const isNew = node.stat === undefined
    const isReplaced = node.stat !== undefined && !isSameInode(node.stat, stat)
    if (isReplaced) this.#forgetContents(node, pass)
    // A directory that was filled from its note already has a watch. If another folder is now at the path, the watch
    // must be set again.
    if (!isRecalled || isReplaced) this.#arm(node, path, depth === 'look')
    let forced: readonly DirectoryNode[] = []
    if (
      isNew ||
      isReplaced ||
      (depth !== 'sweep' && !isRecalled) ||
      node.isRacy ||
      !isSameStat(node.stat as FileStat, stat) ||
      (node.ignored !== undefined && !(await isIgnoreFileUnchanged(node, path, fileSystem)))
    ) {
      try {
        const listedAt = clock.now()
        const found = fileSystem.list(path)
        const entries = isPending(found) ? await found : found
        if (!node.isAttached) return []
        node.isRacy = isRacyStat(stat, listedAt)
        node.stat = stat
        pass.listed.add(node)
        forced = await this.#reconcile(node, entries, path, pass)
      } catch (thrown) {
        return this.#fail(node, thrown, pass)
      }
    }
    await this.#checkFiles(node, path, depth, pass)
    const inner = isRecalled ? 'sweep' : depth
    return node.directories.size === 0 ? [] : await this.#childrenToVisit(node, inner, forced)
  }

  /**
   * Fills a new directory from its note, so that the scan compares the directory with the disk instead of listing it.
   */
  #recall(node: DirectoryNode, path: string, pass: ScanPass): boolean {
    if (node.stat !== undefined || !node.isDiscoverable || isInSkill(node) || hasRulesAbove(node))
      return false
    if (this.#directories + MOST_DIRECTORIES > this.#options.limits.maxDirectories) return false
    const added = this.#options.recall(node)
    if (added === undefined) return false
    // The path is in `removed` if this pass has detached a folder that contained the directory.
    pass.removed.delete(node.path)
    this.#directories += added.length
    for (const each of added) pass.created.add(each)
    // Set the watch before the comparison. A later change causes an event, and the comparison finds an earlier change.
    this.#arm(node, path, false)
    return true
  }

  async #childrenToVisit(
    node: DirectoryNode,
    depth: VisitDepth,
    forced: readonly DirectoryNode[],
  ): Promise<{ node: DirectoryNode; depth: VisitDepth }[]> {
    const items: { node: DirectoryNode; depth: VisitDepth }[] = []
    if (forced.length === node.directories.size) return forced.map(child => ({ node: child, depth: 'look' }))
    const isForced = new Set(forced)
    for (const child of node.directories.values()) {
      if (isForced.has(child)) items.push({ node: child, depth: 'look' })
      else if (depth !== 'look' || child.isStandalone) items.push({ node: child, depth })
      // An unreadable directory may be readable now.
      else if (child.findings.length > 0) items.push({ node: child, depth })
      else if (await this.#isReplaced(child)) items.push({ node: child, depth: 'look' })
    }
    return items
  }

  async #isReplaced(node: DirectoryNode): Promise<boolean> {
    const stat = await statIfThere(this.#options.fileSystem, this.#options.pathOf(node))
    return stat === undefined || node.stat === undefined || !isSameInode(node.stat, stat)
  }

  #fail(node: DirectoryNode, thrown: unknown, pass: ScanPass): { node: DirectoryNode; depth: VisitDepth }[] {
    if (SkillError.isInstance(thrown, 'NOT_FOUND') || SkillError.isInstance(thrown, 'WRONG_KIND')) {
      const { parent } = node
      if (parent === undefined) throw thrown
      this.detach(node, pass)
      // The directory may have moved. List the parent folder again to find the directory's new path in the same pass.
      if (pass.listed.has(parent) || pass.revisited.has(parent)) return []
      pass.revisited.add(parent)
      return [{ node: parent, depth: 'look' }]
    }
    if (node.parent === undefined) throw thrown
    if (!node.isAttached) return []
    // An unreadable directory still exists, so keep its known contents and retry at the next visit.
    node.isRacy = true
    // The skill counts as broken and not as removed, even if this process never read it.
    if (node.stat === undefined && node.isDiscoverable && !isInSkill(node) && pass.wasServed(node.path)) {
      node.skillFile = 'SKILL.md'
      pass.removed.delete(node.path)
    }
    const finding = {
      ...({ code: 'DIRECTORY_UNREADABLE', severity: 'error' } as const),
      ...{ reason: `cannot be read: ${toMessage(thrown)}`, fix: 'check the permissions' },
    }
    this.#setFindings(node, [toDiagnostic(finding, node.path, this.#options.displayPath(node.path))])
    affectOwners(node, pass)
    return []
  }

  /** Watches a directory. Sets the watch again after an event, because another directory may now be at the path. */
  #arm(node: DirectoryNode, path: string, anew: boolean): void {
    const { fileSystem, isWatching, clock } = this.#options
    if (fileSystem.watch === undefined || !isWatching() || (node.unwatch !== undefined && !anew)) return
    const now = clock.monotonic()
    if (node.refusedAt !== undefined && now - node.refusedAt < REFUSED_RETRY_MS) return
    const unwatchBefore = node.unwatch
    try {
      node.unwatch = this.#watch(node, path)
      node.refusedAt = undefined
    } catch (thrown) {
      node.unwatch = undefined
      this.#refuse(node, thrown)
    }
    unwatchBefore?.()
  }

  /** This is a separate method, because the closure of each directory must refer to as few objects as possible. */
  #watch(node: DirectoryNode, path: string): (() => void) | undefined {
    const since = this.#options.clock.monotonic()
    const stop = this.#options.fileSystem.watch?.(
      path,
      () => this.#options.onEvent(node),
      error => {
        stop?.()
        if (node.unwatch === stop) node.unwatch = undefined
        if (this.#options.clock.monotonic() - since < WORKING_MS) this.#refuse(node, error)
        else this.#options.onWatchError(error)
      },
    )
    return stop
  }

  #refuse(node: DirectoryNode, thrown: unknown): void {
    node.refusedAt = this.#options.clock.monotonic()
    this.#unwatched.add(node)
    this.#refusal = toMessage(thrown)
  }

  #forgetContents(node: DirectoryNode, pass: ScanPass): void {
    unwatch(node)
    pass.replaced.add(node)
    for (const child of [...node.directories.values()]) this.detach(child, pass)
    node.files.clear()
    node.isRacy = true
    this.#markChanged(node, pass)
  }

  /**
   * Updates a directory from a fresh list of its entries. Returns the subdirectories that are new or must be listed
   * again.
   */
  async #reconcile(
    node: DirectoryNode,
    entries: readonly DirectoryEntry[],
    path: string,
    pass: ScanPass,
  ): Promise<readonly DirectoryNode[]> {
    const wasInSkill = isInSkill(node)
    this.#updateSkillFile(node, entries, pass)
    const inSkill = isInSkill(node)
    if (wasInSkill !== inSkill) {
      for (const child of [...node.directories.values()]) this.detach(child, pass)
      node.files.clear()
    }
    const { fileSystem } = this.#options
    const findings: Diagnostic[] = []
    const mayHaveRules = node.ignored !== undefined || entries.some(entry => entry.name === IGNORE_FILE_NAME)
    if (mayHaveRules && (await updateIgnoreFile(node, entries, { path, pass, findings }, this.#options))) {
      for (const child of [...node.directories.values()]) this.detach(child, pass)
      this.#markChanged(node, pass)
    }
    if (!node.isAttached) return []
    const context: EntryContext = {
      ...{ node, inSkill, findings },
      followLink: async name => {
        const isWalked = (each: string): boolean => this.#classifier.isWalked(each, context)
        return await followLink(name, { fileSystem, node, path, inSkill, pass, isWalked })
      },
    }
    const forced: DirectoryNode[] = []
    const isFirst = node.directories.size === 0 && node.files.size === 0
    const seen = isFirst ? undefined : new Set<string>()
    for (const [index, entry] of this.#classifier.leaveOutEntries(entries, context).entries()) {
      const turn = index % ENTRIES_PER_SLICE === ENTRIES_PER_SLICE - 1 ? fileSystem.pace?.() : undefined
      if (turn !== undefined) await turn
      const found = this.#classifier.classify(entry, context)
      const kind = isPending(found) ? await found : found
      if (!node.isAttached) return []
      if (kind === undefined) continue
      seen?.add(entry.name)
      const isLink = entry.kind === 'link'
      if (kind === 'file') this.#addFile(node, entry.name, isLink, pass)
      else if (kind === 'standalone') this.#addStandalone(node, entry.name, pass)
      else if (this.#addDirectory(node, entry.name, isLink, kind, pass)) {
        forced.push(node.directories.get(entry.name) as DirectoryNode)
      }
    }
    if (seen !== undefined) this.#removeOthers(node, seen, pass)
    if (findings.length + node.findings.length > 0) {
      if (JSON.stringify(findings) !== JSON.stringify(node.findings)) this.#markChanged(node, pass)
      this.#setFindings(node, findings)
    }
    return forced
  }

  /** Removes entries that are no longer listed. */
  #removeOthers(node: DirectoryNode, seen: ReadonlySet<string>, pass: ScanPass): void {
    for (const [name, child] of node.directories) if (!seen.has(name)) this.detach(child, pass)
    for (const name of node.files.keys()) {
      if (seen.has(name)) continue
      node.files.delete(name)
      this.#markChanged(node, pass)
    }
  }

  #updateSkillFile(node: DirectoryNode, entries: readonly DirectoryEntry[], pass: ScanPass): void {
    // A SKILL.md that is a pipe or a link out of the root also counts as the skill's text. Such a file cannot be read,
    // so the skill is shown as broken.
    const isThere = (name: string): boolean =>
      entries.some(entry => entry.name === name && entry.kind !== 'directory')
    const skillFile = node.isDiscoverable
      ? this.#options.layout.findSkillFile(isThere, node.depth)
      : undefined
    const wasLost = node.skillFileLostAt !== undefined
    if (skillFile === node.skillFile) {
      node.skillFileLostAt = undefined
      if (wasLost) this.#markChanged(node, pass)
      return
    }
    if (skillFile === undefined && pass.keepsLost && this.#isInGrace(node)) {
      node.isRacy = true // a sweep lists the folder again, although its stat is unchanged
      if (!wasLost) this.#markChanged(node, pass)
      return
    }
    node.skillFileLostAt = undefined
    if (skillFile === undefined) {
      node.skillFile = undefined
      node.entry = undefined
      pass.removed.add(node.path)
      pass.affected.delete(node)
    } else {
      node.skillFile = skillFile
      pass.removed.delete(node.path)
    }
    this.#markChanged(node, pass)
  }

  /** Whether a folder without its skill file stays a skill for now. A replaced folder does not stay. */
  #isInGrace(node: DirectoryNode): boolean {
    const { skillFile, skillFileLostAt, files } = node
    const now = this.#options.clock.monotonic()
    if (skillFile === undefined || node.entry === undefined) return false
    if (skillFileLostAt !== undefined) return now - skillFileLostAt < SKILL_FILE_GRACE_MS
    if (!files.has(skillFile)) return false
    node.skillFileLostAt = now
    this.#lost.add(node)
    return true
  }

  #addFile(node: DirectoryNode, name: string, isLink: boolean, pass: ScanPass): void {
    if (node.files.get(name)?.isLink === isLink) return
    const file = createFileNode(name, isLink)
    node.files.set(file.name, file)
    if (isLink) this.#links.add({ directory: node, file })
    this.#markChanged(node, pass)
  }

  /** Adds a directory. Returns true if the directory is new to the mirror. */
  #addDirectory(
    parent: DirectoryNode,
    name: string,
    isLink: boolean,
    link: { realPath?: string },
    pass: ScanPass,
  ): boolean {
    const known = parent.directories.get(name)
    if (known !== undefined && known.isLink === isLink && !known.isStandalone) {
      known.realPath = link.realPath
      return false
    }
    if (known !== undefined) this.detach(known, pass)
    if (this.#directories >= this.#options.limits.maxDirectories) {
      this.#hasExceededBudget = true
      parent.isRacy = true // the next sweep lists it again and may have room
      return false
    }
    this.#directories++
    const isDiscoverable = this.#classifier.isDiscoverable(parent, name, isInSkill(parent))
    const directory = createDirectoryNode({ name, parent, isLink, isDiscoverable, ...link })
    attach(directory, parent)
    pass.created.add(directory)
    if (isLink) this.#links.add({ directory })
    this.#markChanged(parent, pass)
    return true
  }

  #addStandalone(parent: DirectoryNode, name: string, pass: ScanPass): void {
    const known = parent.directories.get(name)
    if (known?.isStandalone === true) return
    if (known !== undefined) this.detach(known, pass)
    this.#directories++
    const node = createDirectoryNode({
      name,
      parent,
      isLink: false,
      isDiscoverable: true,
      isStandalone: true,
    })
    node.skillFile = name
    node.files.set(name, createFileNode(name, false))
    attach(node, parent)
    pass.removed.delete(node.path)
    this.#markChanged(node, pass)
  }

  async #checkFiles(node: DirectoryNode, path: string, depth: VisitDepth, pass: ScanPass): Promise<void> {
    for (const file of node.files.values()) {
      if (file.stat === undefined) {
        affectOwners(node, pass)
        continue
      }
      const found = this.#isUnchanged(file.stat, `${path}/${file.name}`)
      const looksSame = typeof found === 'boolean' ? found : await found
      if (looksSame && !file.isRacy && depth !== 'rehash') continue
      file.stat = undefined
      if (looksSame) affectOwners(node, pass)
      else this.#markChanged(node, pass)
    }
  }

  #isUnchanged(before: FileStat, path: string): boolean | Promise<boolean> {
    try {
      const found = this.#options.fileSystem.stat(path)
      if (!isPending(found)) return isSameStat(before, found)
      return Promise.resolve(found).then(
        after => isSameStat(before, after),
        () => false,
      )
    } catch {
      return false // the next reading finds the reason
    }
  }

  #setFindings(node: DirectoryNode, findings: readonly Diagnostic[]): void {
    node.findings = findings
    if (findings.length > 0) this.#nodesWithFindings.add(node)
  }

  #markChanged(node: DirectoryNode, pass: ScanPass): void {
    pass.changed.add(node)
    affectOwners(node, pass)
  }
}

/** Yields the items for which `isCurrent` returns true, and removes the others. */
function* keep<Item>(items: Set<Item>, isCurrent: (item: Item) => boolean): Generator<Item> {
  for (const item of items)
    if (isCurrent(item)) yield item
    else items.delete(item)
}

function affectOwners(node: DirectoryNode, pass: ScanPass): void {
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent)
    if (at.skillFile !== undefined && at.isAttached) pass.affected.add(at)
}
