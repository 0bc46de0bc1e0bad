import type { FileStat } from '../fs/file-system.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { IgnoreRules } from '../skill/manifest.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { BelievedText } from './half-written.ts'

/** The known state of one file of a skill's folder. */
export interface FileNode {
  readonly name: string
  readonly isLink: boolean
  /** Stat of the file when it was last read; `undefined` before the first read. */
  stat: FileStat | undefined
  digest: Digest | undefined
  /** Number of bytes at the last read. */
  size: number
  /**
   * Whether a later change could leave the stat unchanged. This is possible if the last read came right after a change.
   */
  isRacy: boolean
  /** The last state of the file that did not look half-written; `undefined` if every state looked half-written. */
  believed: BelievedText | undefined
  /**
   * Whether the file had several hard links when it was read. An edit through another link causes no event in this
   * directory.
   */
  isShared: boolean
  /** Findings about the bytes of the file. */
  findings: readonly Diagnostic[]
  /** Why the file could not be read. */
  fault: Diagnostic | undefined
}

/**
 * The known state of one directory. Outside of skills, only directories that may contain skills are mirrored. The
 * folder of a skill is mirrored completely.
 */
export interface DirectoryNode {
  readonly name: string
  /** Path relative to the root, spelled as on the disk; empty for the root. */
  readonly path: string
  /** Levels below the root. */
  readonly depth: number
  readonly parent: DirectoryNode | undefined
  readonly isLink: boolean
  /** Whether the node stands for a single-file skill. Such a skill is one file in the parent folder. */
  readonly isStandalone: boolean
  /** The path with links resolved, for directories that were reached through a link. */
  realPath: string | undefined
  /** Whether a SKILL.md in the directory, or below it, is a separate skill. */
  readonly isDiscoverable: boolean
  isAttached: boolean
  stat: FileStat | undefined
  isRacy: boolean
  unwatch: (() => void) | undefined
  /**
   * Monotonic time at which the file system refused a watch. `undefined` if a watch works, or if no watch was tried.
   */
  refusedAt: number | undefined
  /** Name of the file with the skill's text, if the directory is the folder of a skill. */
  skillFile: string | undefined
  /** Monotonic time at which the skill file vanished while the folder stayed; `undefined` if the file is there. */
  skillFileLostAt: number | undefined
  /** Monotonic time since which files with brief names delay the reading of the folder; `undefined` without such files. */
  briefSince: number | undefined
  ignored: IgnoreFile | undefined
  /** Subdirectories by name. Most directories have no subdirectories, and share one empty map. */
  directories: ReadonlyMap<string, DirectoryNode>
  readonly files: Map<string, FileNode>
  /** Findings about entries that were left out: links that leave the root, special files, unreadable directories. */
  findings: readonly Diagnostic[]
  /**
   * The source entry built from the folder's files. `undefined` before the first build, and for directories that are
   * not skills.
   */
  entry: SourceEntry | undefined
}

/** The state of a directory's `.skillignore` at the last read. */
export interface IgnoreFile {
  readonly text: string
  readonly rules: IgnoreRules
  /** Stat of the file; `undefined` after its removal. */
  readonly stat: FileStat | undefined
}

/** The results of one pass over the mirror. */
export interface ScanPass {
  readonly insideFolders: readonly string[]
  readonly rootRealPath: string
  /** Whether this process or an earlier process served a skill from a location. */
  readonly wasServed: (location: string) => boolean
  /** Whether a folder stays a skill for a moment if its skill file vanishes. */
  readonly keepsLost: boolean
  /** Skill folders whose source entries must be built again. */
  readonly affected: Set<DirectoryNode>
  /** Locations that no longer contain a skill. */
  readonly removed: Set<string>
  /** Directories that were listed, for the second fingerprint. */
  readonly listed: Set<DirectoryNode>
  /** Directories that differed from the mirror. */
  readonly changed: Set<DirectoryNode>
  /** Directories that must be listed again because one of their entries vanished. */
  readonly revisited: Set<DirectoryNode>
  /** Directories that are new to the mirror. */
  readonly created: Set<DirectoryNode>
  /** Known directories at whose path another directory is now. */
  readonly replaced: Set<DirectoryNode>
}

export interface NewDirectory {
  readonly name: string
  readonly parent: DirectoryNode | undefined
  readonly isLink: boolean
  readonly realPath?: string
  readonly isDiscoverable: boolean
  readonly isStandalone?: boolean
}

export function createDirectoryNode(fields: NewDirectory): DirectoryNode {
  const { parent } = fields
  const name = shareName(fields.name)
  return {
    name,
    parent,
    isLink: fields.isLink,
    isStandalone: fields.isStandalone ?? false,
    realPath: fields.realPath,
    isDiscoverable: fields.isDiscoverable,
    path: parent === undefined || parent.path === '' ? name : `${parent.path}/${name}`,
    depth: parent === undefined ? 0 : parent.depth + 1,
    isAttached: true,
    stat: undefined,
    isRacy: true,
    unwatch: undefined,
    refusedAt: undefined,
    skillFile: undefined,
    skillFileLostAt: undefined,
    briefSince: undefined,
    ignored: undefined,
    directories: NO_DIRECTORIES,
    files: new Map(),
    findings: NO_FINDINGS,
    entry: undefined,
  }
}

export function createFileNode(name: string, isLink: boolean): FileNode {
  return {
    name: shareName(name),
    isLink,
    stat: undefined,
    digest: undefined,
    size: 0,
    isRacy: true,
    believed: undefined,
    isShared: false,
    findings: NO_FINDINGS,
    fault: undefined,
  }
}

const MOST_NAMES = 1_000
const names = new Map<string, string>()

/**
 * Returns one shared string for file names that many folders contain, such as `SKILL.md`, because each listing creates
 * new strings.
 */
function shareName(name: string): string {
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size < MOST_NAMES) names.set(name, name)
  return name
}

const NO_DIRECTORIES: ReadonlyMap<string, DirectoryNode> = new Map()
const NO_FINDINGS: readonly Diagnostic[] = Object.freeze([])

/** Adds a directory to its parent. */
export function attach(child: DirectoryNode, parent: DirectoryNode): void {
  if (parent.directories === NO_DIRECTORIES) parent.directories = new Map()
  ;(parent.directories as Map<string, DirectoryNode>).set(child.name, child)
}

/** Removes a directory from its parent. The removed directory keeps its subdirectories. */
export function takeOut({ parent, name }: DirectoryNode): void {
  if (parent === undefined || !parent.directories.has(name)) return
  ;(parent.directories as Map<string, DirectoryNode>).delete(name)
}

/** Ends the watch of a directory, if there is one. */
export function unwatch(node: DirectoryNode): void {
  node.unwatch?.()
  node.unwatch = undefined
}

/** Returns the directory that lists the files of a node. */
export function listingOf(node: DirectoryNode): DirectoryNode {
  return node.isStandalone ? (node.parent as DirectoryNode) : node
}

/**
 * Returns the skill folders that contain a directory, innermost first. If the directory is a skill folder, it is the
 * first item.
 */
export function owningSkills(node: DirectoryNode): DirectoryNode[] {
  const owners: DirectoryNode[] = []
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
    if (at.skillFile !== undefined) owners.push(at)
  }
  return owners
}

/** Whether a directory is the folder of a skill or inside one. */
export function isInSkill(node: DirectoryNode): boolean {
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent)
    if (at.skillFile !== undefined) return true
  return false
}

/** Yields the directory and everything below it, parents first. */
export function* subtree(node: DirectoryNode): Generator<DirectoryNode> {
  const queue = [node]
  for (let i = 0; i < queue.length; i++) {
    const current = queue[i] as DirectoryNode
    yield current
    for (const child of current.directories.values()) queue.push(child)
  }
}

/** Returns the absolute path of a directory; for a single-file skill, the path of its parent. */
export function absolutePathOf(node: DirectoryNode, root: string): string {
  return joinPath(root, listingOf(node).path)
}

/** Joins the path of a folder and a path within it. Both may be empty. */
export function joinPath(folder: string, path: string): string {
  return folder === '' || path === '' ? `${folder}${path}` : `${folder === '/' ? '' : folder}/${path}`
}

/** Returns the path of a directory relative to one of its ancestors; empty for the ancestor itself. */
export function pathWithin(ancestor: Pick<DirectoryNode, 'path'>, node: Pick<DirectoryNode, 'path'>): string {
  if (ancestor === node) return ''
  return ancestor.path === '' ? node.path : node.path.slice(ancestor.path.length + 1)
}

/** Returns the path of a directory with links resolved. */
export function realPathOf(node: DirectoryNode, rootRealPath: string): string {
  if (node.realPath !== undefined) return node.realPath
  return node.parent === undefined ? rootRealPath : `${realPathOf(node.parent, rootRealPath)}/${node.name}`
}

/** Returns the path of a directory with links resolved; `undefined` if no part of its path is a link. */
export function linkedPathOf(node: DirectoryNode): string | undefined {
  if (node.realPath !== undefined) return node.realPath
  const parent = node.parent === undefined ? undefined : linkedPathOf(node.parent)
  return parent === undefined ? undefined : `${parent}/${node.name}`
}

export const NOT_ASCII: RegExp = /[^\u0020-\u007e]/

/** Finds a subfolder by its name in NFC. The disk may spell the name in decomposed Unicode. */
function findChild(node: DirectoryNode, segment: string): DirectoryNode | undefined {
  const known = node.directories.get(segment)
  if (known !== undefined || !NOT_ASCII.test(segment)) return known
  return [...node.directories.values()].find(({ name }) => name.normalize('NFC') === segment)
}

/** Finds the folder at a location, or the deepest known folder above it. */
export function findNearest(
  root: DirectoryNode,
  location: string,
): { readonly node: DirectoryNode; readonly isExact: boolean } {
  let node = root
  for (const segment of location === '' ? [] : location.split('/')) {
    const child = findChild(node, segment)
    if (child === undefined) return { node, isExact: false }
    node = child
  }
  return { node, isExact: true }
}
