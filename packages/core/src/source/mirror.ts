import type { FileStat } from '../fs/file-system.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { IgnoreRules } from '../skill/manifest.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { BelievedText } from './half-written.ts'

/** What is known of one file of a skill's folder. */
export interface FileNode {
  readonly name: string
  readonly isLink: boolean
  /** Facts at the time the bytes were read; `undefined` until then. */
  stat: FileStat | undefined
  digest: Digest | undefined
  /** How many bytes were read. */
  size: number
  /** The bytes were read so soon after a change that a later change could show the same facts. */
  isRacy: boolean
  /** What was read last and did not look half-written; `undefined` until then. */
  believed: BelievedText | undefined
  /** Whether the file had other names when it was read: an edit under one of them sends no event here. */
  isShared: boolean
  /** What was found in its bytes. */
  findings: readonly Diagnostic[]
  /** Why it could not be read. */
  fault: Diagnostic | undefined
}

/**
 * What is known of one directory. Directories outside skills are mirrored only for the skills below them; a skill's
 * folder is mirrored whole.
 */
export interface DirectoryNode {
  readonly name: string
  /** Relative to the root, in the spelling of the disk; empty for the root. */
  readonly path: string
  /** Levels below the root. */
  readonly depth: number
  readonly parent: DirectoryNode | undefined
  readonly isLink: boolean
  /** Not a directory at all: a single file of the parent that is a skill of its own. */
  readonly isStandalone: boolean
  /** The path with links resolved, for directories reached through a link. */
  realPath: string | undefined
  /** Whether a SKILL.md here (or below) is a skill of its own. */
  readonly isDiscoverable: boolean
  isAttached: boolean
  stat: FileStat | undefined
  isRacy: boolean
  unwatch: (() => void) | undefined
  /** Monotonic time at which a watch was refused; `undefined` where one works or none was tried. */
  refusedAt: number | undefined
  /** Name of the skill's text when this is a skill's folder. */
  skillFile: string | undefined
  ignored: IgnoreFile | undefined
  /** Most directories have none in them, so there is a map of their own only for those that do. */
  directories: ReadonlyMap<string, DirectoryNode>
  readonly files: Map<string, FileNode>
  /** What was left out here and why: links that lead out, special files, unreadable directories. */
  findings: readonly Diagnostic[]
  /** Built from the folder's files; `undefined` until then and for directories that are no skill. */
  entry: SourceEntry | undefined
}

/** The `.skillignore` of a directory as it was read last. */
export interface IgnoreFile {
  readonly text: string
  readonly rules: IgnoreRules
  /** `undefined` once the file is gone. */
  readonly stat: FileStat | undefined
}

/** What one pass over the mirror found. */
export interface ScanPass {
  readonly insideFolders: readonly string[]
  readonly rootRealPath: string
  /** Whether a skill was served from a location, in this process or before. */
  readonly wasServed: (location: string) => boolean
  /** Skill folders that have to be built again. */
  readonly affected: Set<DirectoryNode>
  /** Locations at which a skill was and no longer is. */
  readonly removed: Set<string>
  /** Directories whose list was read, to be fingerprinted again. */
  readonly listed: Set<DirectoryNode>
  /** Directories in which something differed from the mirror. */
  readonly changed: Set<DirectoryNode>
  /** Directories that are listed again because something in them was gone. */
  readonly revisited: Set<DirectoryNode>
  /** Directories that were not in the mirror before. */
  readonly created: Set<DirectoryNode>
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

/** One string for each of the names that are in many folders, such as `SKILL.md`: a listing makes new ones each time. */
function shareName(name: string): string {
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size < MOST_NAMES) names.set(name, name)
  return name
}

const NO_DIRECTORIES: ReadonlyMap<string, DirectoryNode> = new Map()
const NO_FINDINGS: readonly Diagnostic[] = Object.freeze([])

/** Puts a directory into the one above it. */
export function attach(child: DirectoryNode, parent: DirectoryNode): void {
  if (parent.directories === NO_DIRECTORIES) parent.directories = new Map()
  ;(parent.directories as Map<string, DirectoryNode>).set(child.name, child)
}

/** Takes a directory out of the one above it; those below it stay with it. */
export function takeOut({ parent, name }: DirectoryNode): void {
  if (parent === undefined || !parent.directories.has(name)) return
  ;(parent.directories as Map<string, DirectoryNode>).delete(name)
}

/** Ends the watch of a directory, if there is one. */
export function unwatch(node: DirectoryNode): void {
  node.unwatch?.()
  node.unwatch = undefined
}

/** The directory whose list shows a node's files. */
export function listingOf(node: DirectoryNode): DirectoryNode {
  return node.isStandalone ? (node.parent as DirectoryNode) : node
}

/** Skill folders that hold this directory, itself included, from the inside out. */
export function owningSkills(node: DirectoryNode): DirectoryNode[] {
  const owners: DirectoryNode[] = []
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
    if (at.skillFile !== undefined) owners.push(at)
  }
  return owners
}

/** Whether a directory belongs to a skill, as its folder or below. */
export function isInSkill(node: DirectoryNode): boolean {
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent)
    if (at.skillFile !== undefined) return true
  return false
}

/** The directory and everything below it, parents first. */
export function* subtree(node: DirectoryNode): Generator<DirectoryNode> {
  const queue = [node]
  for (let i = 0; i < queue.length; i++) {
    const current = queue[i] as DirectoryNode
    yield current
    for (const child of current.directories.values()) queue.push(child)
  }
}

/** The path of a directory in the file system, given the root's own; that of the parent for a single file. */
export function absolutePathOf(node: DirectoryNode, root: string): string {
  const { path } = listingOf(node)
  return path === '' ? root : root === '/' ? `/${path}` : `${root}/${path}`
}

/** The path of a directory relative to one of its ancestors; empty for the ancestor itself. */
export function pathWithin(ancestor: DirectoryNode, node: DirectoryNode): string {
  if (ancestor === node) return ''
  return ancestor.path === '' ? node.path : node.path.slice(ancestor.path.length + 1)
}

/** The path with links resolved, given the root's own. */
export function realPathOf(node: DirectoryNode, rootRealPath: string): string {
  if (node.realPath !== undefined) return node.realPath
  return node.parent === undefined ? rootRealPath : `${realPathOf(node.parent, rootRealPath)}/${node.name}`
}

export const NOT_ASCII: RegExp = /[^\u0020-\u007e]/

/** A folder by its name in a location, which the disk may compose of other characters. */
function findChild(node: DirectoryNode, segment: string): DirectoryNode | undefined {
  const known = node.directories.get(segment)
  if (known !== undefined || !NOT_ASCII.test(segment)) return known
  return [...node.directories.values()].find(({ name }) => name.normalize('NFC') === segment)
}

/** The folder at a location, or the deepest one above it that the mirror knows. */
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
