import { SkillError, toMessage } from '../errors.ts'
import {
  type DirectoryEntry,
  type FileStat,
  type FileSystem,
  isSameInode,
  isSameStat,
} from '../fs/file-system.ts'
import { walkBreadthFirst } from '../fs/walk.ts'
import type { Clock } from '../host.ts'
import type { Diagnostic, DiagnosticCode, Severity } from '../skill/diagnostic.ts'
import type { SkillLimits } from '../skill/limits.ts'
import { isLeftOut, parseIgnoreFile } from '../skill/manifest.ts'
import { IGNORE_FILE_NAME, isSkippedByDiscovery, SKILL_FILE_NAMES } from './file-layout.ts'
import {
  createDirectoryNode,
  type DirectoryNode,
  type FileNode,
  owningSkills,
  pathWithin,
  realPathOf,
  subtree,
} from './mirror.ts'

/** Links inside a source: followed when they stay in the root or an allowed folder, or never. */
export type SymlinkPolicy = 'within-root' | 'deny'

export interface ScannerOptions {
  readonly fileSystem: FileSystem
  readonly clock: Clock
  readonly limits: SkillLimits
  readonly symlinks: SymlinkPolicy
  readonly nestedSkills: boolean
  /** Absolute path of a directory of the mirror. */
  readonly pathOf: (node: DirectoryNode) => string
  /** How a path is shown to people. */
  readonly displayPath: (path: string) => string
  readonly onEvent: (node: DirectoryNode) => void
  readonly onWatchError: (error: Error) => void
  readonly isWatching: () => boolean
}

/** `look`: list it again. `sweep`: trust unchanged facts. `rehash`: trust nothing. */
export type VisitDepth = 'look' | 'sweep' | 'rehash'

/** What one pass over the mirror found. */
export interface ScanPass {
  readonly insideFolders: readonly string[]
  readonly rootRealPath: string
  /** Skill folders that have to be built again. */
  readonly affected: Set<DirectoryNode>
  /** Locations at which a skill was and no longer is. */
  readonly removed: Set<string>
  /** Directories whose list was read, to be fingerprinted again. */
  readonly listed: Set<DirectoryNode>
  /** Directories in which something differed from the mirror. */
  readonly changed: Set<DirectoryNode>
  /** Directories that were not in the mirror before. */
  readonly created: Set<DirectoryNode>
}

/** A link that was followed: to a directory, or to a file in it. */
export interface FollowedLink {
  readonly directory: DirectoryNode
  readonly file?: FileNode
}

// A change within this time after the last one may leave the same facts behind (git calls such entries racy).
const RACY_WINDOW_MS = 2_000
const CONCURRENCY = 16

/** Whether facts taken now could hide a change that follows right away. */
export function isRacyStat(stat: FileStat, now: number): boolean {
  return now - Math.max(stat.mtimeMs, stat.ctimeMs) < RACY_WINDOW_MS
}

/** Brings the mirror of directories and file facts up to date with the disk; reads no skill. */
export class MirrorScanner {
  readonly #options: ScannerOptions
  readonly #links = new Set<FollowedLink>()
  readonly #nodesWithFindings = new Set<DirectoryNode>()
  #directories = 1
  #hasExceededBudget = false

  constructor(options: ScannerOptions) {
    this.#options = options
  }

  get hasExceededBudget(): boolean {
    return this.#hasExceededBudget
  }

  /** The links that are in use now. */
  *links(): Generator<FollowedLink> {
    for (const link of this.#links) {
      const { directory, file } = link
      const isStale = !directory.isAttached || (file !== undefined && directory.files.get(file.name) !== file)
      if (isStale) this.#links.delete(link)
      else yield link
    }
  }

  /** Findings about folders that belong to no skill, and so to the source. */
  findingsOutsideSkills(): Diagnostic[] {
    const findings: Diagnostic[] = []
    for (const node of this.#nodesWithFindings) {
      if (!node.isAttached || node.findings.length === 0) this.#nodesWithFindings.delete(node)
      else if (owningSkills(node).length === 0) findings.push(...node.findings)
    }
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

  /** Forgets a directory and everything below it. */
  detach(node: DirectoryNode, pass: ScanPass): void {
    if (!node.isAttached) return
    for (const each of subtree(node)) {
      each.isAttached = false
      each.unwatch?.()
      delete each.unwatch
      this.#directories--
      if (each.skillFile !== undefined) pass.removed.add(each.path)
      pass.affected.delete(each)
    }
    node.parent?.directories.delete(node.name)
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
    let stat: FileStat
    try {
      stat = await fileSystem.stat(path)
      if (stat.kind !== 'directory') throw new SkillError('NOT_FOUND', `${path} is no directory any more`)
    } catch (thrown) {
      return this.#fail(node, thrown, pass)
    }
    const isNew = node.stat === undefined
    const isReplaced = node.stat !== undefined && !isSameInode(node.stat, stat)
    if (isReplaced) this.#forgetContents(node, pass)
    this.#arm(node, path, depth === 'look')
    let forced = new Set<DirectoryNode>()
    if (isNew || isReplaced || depth !== 'sweep' || node.isRacy || !isSameStat(node.stat as FileStat, stat)) {
      try {
        const entries = await fileSystem.list(path)
        node.isRacy = isRacyStat(stat, clock.now())
        node.stat = stat
        pass.listed.add(node)
        forced = await this.#reconcile(node, entries, path, pass)
      } catch (thrown) {
        return this.#fail(node, thrown, pass)
      }
    }
    await this.#checkFiles(node, path, depth, pass)
    return await this.#childrenToVisit(node, depth, forced)
  }

  async #childrenToVisit(
    node: DirectoryNode,
    depth: VisitDepth,
    forced: ReadonlySet<DirectoryNode>,
  ): Promise<{ node: DirectoryNode; depth: VisitDepth }[]> {
    const items: { node: DirectoryNode; depth: VisitDepth }[] = []
    for (const child of node.directories.values()) {
      if (forced.has(child)) items.push({ node: child, depth: 'look' })
      else if (depth !== 'look') items.push({ node: child, depth })
      else if (await this.#isReplaced(child)) items.push({ node: child, depth: 'look' })
    }
    return items
  }

  async #isReplaced(node: DirectoryNode): Promise<boolean> {
    try {
      const stat = await this.#options.fileSystem.stat(this.#options.pathOf(node))
      return node.stat === undefined || !isSameInode(node.stat, stat)
    } catch {
      return true // whatever is wrong with it, the visit finds out and says so
    }
  }

  #fail(node: DirectoryNode, thrown: unknown, pass: ScanPass): [] {
    if (SkillError.isInstance(thrown, 'NOT_FOUND') || SkillError.isInstance(thrown, 'WRONG_KIND')) {
      if (node.parent === undefined) throw thrown
      this.detach(node, pass)
      return []
    }
    if (node.parent === undefined) throw thrown
    // Unreadable is not deleted: what was known of it stays, and the next visit tries again.
    node.isRacy = true
    this.#setFindings(node, [
      this.#finding(
        'DIRECTORY_UNREADABLE',
        'error',
        node.path,
        `cannot be read: ${toMessage(thrown)}`,
        'check the permissions',
      ),
    ])
    for (const owner of owningSkills(node)) pass.affected.add(owner)
    return []
  }

  /** Watches a directory; one that was told of is watched anew, because it may be another one by now. */
  #arm(node: DirectoryNode, path: string, anew: boolean): void {
    const { fileSystem, isWatching, onEvent, onWatchError } = this.#options
    if (fileSystem.watch === undefined || !isWatching() || (node.unwatch !== undefined && !anew)) return
    const unwatchBefore = node.unwatch
    try {
      const unwatch = fileSystem.watch(
        path,
        () => onEvent(node),
        error => {
          unwatch()
          if (node.unwatch === unwatch) delete node.unwatch
          onWatchError(error)
        },
      )
      node.unwatch = unwatch
    } catch (thrown) {
      delete node.unwatch
      onWatchError(thrown as Error)
    }
    unwatchBefore?.()
  }

  #forgetContents(node: DirectoryNode, pass: ScanPass): void {
    node.unwatch?.()
    delete node.unwatch
    for (const child of [...node.directories.values()]) this.detach(child, pass)
    node.files.clear()
    node.isRacy = true
    this.#markChanged(node, pass)
  }

  /** Takes over a fresh list of entries; returns the directories that are new or have to be looked at again. */
  async #reconcile(
    node: DirectoryNode,
    entries: readonly DirectoryEntry[],
    path: string,
    pass: ScanPass,
  ): Promise<Set<DirectoryNode>> {
    const wasInSkill = owningSkills(node).length > 0
    this.#updateSkillFile(node, entries, pass)
    const inSkill = owningSkills(node).length > 0
    if (wasInSkill !== inSkill) {
      for (const child of [...node.directories.values()]) this.detach(child, pass)
      node.files.clear()
    }
    if (node.skillFile !== undefined) await this.#updateIgnoreRules(node, entries, path, pass)
    const findings: Diagnostic[] = []
    const forced = new Set<DirectoryNode>()
    const seen = new Set<string>()
    for (const entry of entries) {
      if (isLeftOut(entry.name, node.name)) continue
      const kind = await this.#classify(node, entry, path, inSkill, findings, pass)
      if (kind === undefined) continue
      seen.add(entry.name)
      const isLink = entry.kind === 'link'
      if (kind === 'file') this.#addFile(node, entry.name, isLink, pass)
      else if (this.#addDirectory(node, entry.name, isLink, kind, pass)) {
        forced.add(node.directories.get(entry.name) as DirectoryNode)
      }
    }
    for (const [name, child] of node.directories) if (!seen.has(name)) this.detach(child, pass)
    for (const name of node.files.keys()) {
      if (seen.has(name)) continue
      node.files.delete(name)
      this.#markChanged(node, pass)
    }
    if (JSON.stringify(findings) !== JSON.stringify(node.findings)) this.#markChanged(node, pass)
    this.#setFindings(node, findings)
    return forced
  }

  #updateSkillFile(node: DirectoryNode, entries: readonly DirectoryEntry[], pass: ScanPass): void {
    // A pipe or a link that leads out counts too: reading it finds the fault, and the skill is shown as broken.
    const isThere = (name: string): boolean =>
      entries.some(entry => entry.name === name && entry.kind !== 'directory')
    const skillFile = node.isDiscoverable ? SKILL_FILE_NAMES.find(isThere) : undefined
    if (skillFile === node.skillFile) return
    if (skillFile === undefined) {
      delete node.skillFile
      delete node.entry
      delete node.ignoreRules
      pass.removed.add(node.path)
      pass.affected.delete(node)
    } else {
      node.skillFile = skillFile
      pass.removed.delete(node.path)
    }
    this.#markChanged(node, pass)
  }

  async #updateIgnoreRules(
    node: DirectoryNode,
    entries: readonly DirectoryEntry[],
    path: string,
    pass: ScanPass,
  ): Promise<void> {
    const isThere = entries.some(entry => entry.name === IGNORE_FILE_NAME && entry.kind === 'file')
    if (!isThere && node.ignoreRules === undefined) return
    let text = ''
    if (isThere) {
      const { fileSystem, limits } = this.#options
      const { bytes } = await fileSystem.read(`${path}/${IGNORE_FILE_NAME}`, {
        inside: pass.insideFolders,
        maxBytes: limits.maxFrontmatterBytes,
      })
      text = new TextDecoder().decode(bytes)
    }
    if (node.ignoreText === text) return
    node.ignoreText = text
    node.ignoreRules = parseIgnoreFile(text)
    for (const child of [...node.directories.values()]) this.detach(child, pass)
    this.#markChanged(node, pass)
  }

  /** What an entry is to the mirror: a file of a skill, a directory to walk (its real path for links), or nothing. */
  async #classify(
    node: DirectoryNode,
    entry: DirectoryEntry,
    path: string,
    inSkill: boolean,
    findings: Diagnostic[],
    pass: ScanPass,
  ): Promise<'file' | { realPath?: string } | undefined> {
    if (entry.name === node.skillFile) return 'file'
    const shown = node.path === '' ? entry.name : `${node.path}/${entry.name}`
    if (this.#isIgnored(node, entry)) return undefined
    if (entry.name.includes('\uFFFD')) {
      if (inSkill)
        findings.push(
          this.#finding('FILE_SKIPPED', 'warning', shown, 'has a name that is not UTF-8', 'rename it'),
        )
      return undefined
    }
    switch (entry.kind) {
      case 'file':
        return inSkill ? 'file' : undefined
      case 'directory':
        return this.#isWalked(node, entry.name, inSkill, shown, findings) ? {} : undefined
      case 'other':
        if (inSkill) {
          findings.push(
            this.#finding(
              'FILE_SKIPPED',
              'warning',
              shown,
              'is not a regular file (a pipe, socket or device)',
              'remove it',
            ),
          )
        }
        return undefined
      case 'link':
        return await this.#classifyLink(node, entry.name, path, inSkill, shown, findings, pass)
      default:
        return entry.kind satisfies never
    }
  }

  async #classifyLink(
    node: DirectoryNode,
    name: string,
    path: string,
    inSkill: boolean,
    shown: string,
    findings: Diagnostic[],
    pass: ScanPass,
  ): Promise<'file' | { realPath?: string } | undefined> {
    const { fileSystem, symlinks } = this.#options
    const refuse = (reason: string, fix: string): undefined => {
      findings.push(this.#finding('LINK_REFUSED', 'warning', shown, reason, fix))
      return undefined
    }
    if (symlinks === 'deny') {
      return inSkill
        ? refuse('is a link, and links are not followed here', 'put the file itself there')
        : undefined
    }
    try {
      const target = await fileSystem.stat(`${path}/${name}`)
      if (target.kind === 'file') return inSkill ? 'file' : undefined
      if (target.kind !== 'directory')
        return inSkill ? refuse('links to a special file', 'remove the link') : undefined
      if (!this.#isWalked(node, name, inSkill, shown, findings)) return undefined
      const realPath = await fileSystem.resolve(`${path}/${name}`)
      if (!pass.insideFolders.some(folder => isInside(realPath, folder))) {
        return refuse(
          `links to ${JSON.stringify(realPath)}, which is outside the root`,
          'allow the folder it leads to as a link root, or copy it',
        )
      }
      for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
        if (isInside(realPathOf(at, pass.rootRealPath), realPath))
          return refuse('links back to a folder above it', 'remove the link')
      }
      return { realPath }
    } catch (thrown) {
      return inSkill || SkillError.isInstance(thrown, 'IO_FAILED')
        ? refuse(`cannot be followed: ${toMessage(thrown)}`, 'point the link at an existing file')
        : undefined
    }
  }

  #isIgnored(node: DirectoryNode, entry: DirectoryEntry): boolean {
    for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
      if (at.ignoreRules === undefined || at.skillFile === entry.name) continue
      const within = pathWithin(at, node)
      if (at.ignoreRules(within === '' ? entry.name : `${within}/${entry.name}`, entry.kind === 'directory'))
        return true
    }
    return false
  }

  #isWalked(
    node: DirectoryNode,
    name: string,
    inSkill: boolean,
    shown: string,
    findings: Diagnostic[],
  ): boolean {
    const { limits } = this.#options
    if (!inSkill) return this.#isDiscoverable(node, name, inSkill)
    const outermost = owningSkills(node).at(-1) as DirectoryNode
    const depthWithin = node.depth - outermost.depth + 1
    if (depthWithin < limits.maxFolderDepth) return true
    findings.push(
      this.#finding(
        'FOLDER_TOO_DEEP',
        'error',
        shown,
        `is more than ${limits.maxFolderDepth} levels inside its skill`,
        'move it up, or name it in .skillignore',
      ),
    )
    return false
  }

  #isDiscoverable(parent: DirectoryNode, name: string, inSkill: boolean): boolean {
    const { limits, nestedSkills } = this.#options
    const depth = parent.depth + 1
    if (!parent.isDiscoverable || depth > limits.maxDiscoveryDepth || isSkippedByDiscovery(name, depth))
      return false
    return nestedSkills || !inSkill
  }

  #addFile(node: DirectoryNode, name: string, isLink: boolean, pass: ScanPass): void {
    if (node.files.get(name)?.isLink === isLink) return
    const file: FileNode = { name, isLink, isRacy: true }
    node.files.set(name, file)
    if (isLink) this.#links.add({ directory: node, file })
    this.#markChanged(node, pass)
  }

  /** Whether the directory is new to the mirror. */
  #addDirectory(
    parent: DirectoryNode,
    name: string,
    isLink: boolean,
    link: { realPath?: string },
    pass: ScanPass,
  ): boolean {
    const known = parent.directories.get(name)
    if (known !== undefined && known.isLink === isLink) {
      known.realPath = link.realPath
      return false
    }
    if (known !== undefined) this.detach(known, pass)
    if (this.#directories >= this.#options.limits.maxDirectories) {
      this.#hasExceededBudget = true
      return false
    }
    this.#directories++
    const isDiscoverable = this.#isDiscoverable(parent, name, owningSkills(parent).length > 0)
    const directory = createDirectoryNode({ name, parent, isLink, isDiscoverable, ...link })
    parent.directories.set(name, directory)
    pass.created.add(directory)
    if (isLink) this.#links.add({ directory })
    this.#markChanged(parent, pass)
    return true
  }

  async #checkFiles(node: DirectoryNode, path: string, depth: VisitDepth, pass: ScanPass): Promise<void> {
    for (const file of [...node.files.values()]) {
      if (file.stat === undefined) {
        for (const owner of owningSkills(node)) pass.affected.add(owner)
        continue
      }
      const looksSame = await this.#isUnchanged(file, `${path}/${file.name}`)
      if (looksSame && !file.isRacy && depth !== 'rehash') continue
      delete file.stat
      if (looksSame) for (const owner of owningSkills(node)) pass.affected.add(owner)
      else this.#markChanged(node, pass)
    }
  }

  async #isUnchanged(file: FileNode, path: string): Promise<boolean> {
    try {
      return isSameStat(file.stat as FileStat, await this.#options.fileSystem.stat(path))
    } catch {
      return false // reading it again finds out what happened
    }
  }

  #setFindings(node: DirectoryNode, findings: readonly Diagnostic[]): void {
    node.findings = findings
    if (findings.length > 0) this.#nodesWithFindings.add(node)
  }

  #markChanged(node: DirectoryNode, pass: ScanPass): void {
    pass.changed.add(node)
    for (const owner of owningSkills(node)) pass.affected.add(owner)
  }

  #finding(code: DiagnosticCode, severity: Severity, path: string, reason: string, fix: string): Diagnostic {
    return {
      code,
      severity,
      message: `${JSON.stringify(path.split('/').at(-1) ?? path)} ${reason}`,
      path: this.#options.displayPath(path),
      fix,
    }
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}
