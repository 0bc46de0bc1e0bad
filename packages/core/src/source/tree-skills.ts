import { SkillError } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import { quote } from '../quote.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { parseIgnoreFile } from '../skill/manifest.ts'
import { decodeUnmarkedText } from '../skill/text.ts'
import {
  type ClassifiedFolder,
  type ClassifierOptions,
  EntryClassifier,
  type EntryContext,
} from './entry-classifier.ts'
import { IGNORE_FILE_NAME } from './file-layout.ts'
import { describeIgnoreFault } from './ignore-files.ts'
import { joinPath, pathWithin } from './mirror.ts'
import { describeBudget } from './source-failure.ts'
import type { TreeFile } from './tree-fetcher.ts'

/** The folders of a tree by path, and their children by name. The value for a folder inside a folder is `undefined`. */
export type TreeFolders = ReadonlyMap<string, ReadonlyMap<string, TreeFile | undefined>>

/** The folder of a skill in a fetched tree, or a file that is a skill by itself. */
export interface TreeSkill {
  /** Path within the tree, as the tree spells it. */
  readonly path: string
  readonly skillFile: string
  readonly isStandalone: boolean
  /** The files of the skill, with paths relative to its folder. */
  readonly files: readonly TreeFile[]
  /** Findings about entries that were left out. */
  readonly found: readonly Diagnostic[]
}

/**
 * Puts the entries of a tree into folders. `refused` are the invalid paths, which are left out: paths that leave the
 * root, and paths that are both a file and a folder.
 */
export function toFolders(files: readonly TreeFile[]): {
  readonly folders: TreeFolders
  readonly refused: readonly string[]
} {
  const folders = new Map<string, Map<string, TreeFile | undefined>>([['', new Map()]])
  const put = (file: TreeFile): boolean => {
    const segments = file.path.split('/')
    if (segments.some(segment => segment === '' || segment === '.' || segment === '..')) return false
    const name = segments.pop() as string
    let path = ''
    for (const segment of segments) {
      const folder = folders.get(path)
      path = joinPath(path, segment)
      if (folder?.has(segment) !== false) continue
      folder.set(segment, undefined)
      folders.set(path, new Map())
    }
    const folder = folders.get(path)
    if (folder === undefined || folder.has(name)) return false
    folder.set(name, file)
    return true
  }
  return { folders, refused: files.filter(file => !put(file)).map(({ path }) => path) }
}

/** Lists a folder. @throws {SkillError} NOT_FOUND */
export function listFolder(folders: TreeFolders, path: string): readonly DirectoryEntry[] {
  const children = folders.get(path)
  if (children === undefined) throw new SkillError('NOT_FOUND', `there is no folder ${quote(path)}`)
  return [...children].map(([name, file]) => ({ name, kind: file?.kind ?? 'directory' }))
}

/** Reads a file. @throws {SkillError} NOT_FOUND, WRONG_KIND, TOO_LARGE */
export async function readTreeFile(
  file: TreeFile | undefined,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (file === undefined) throw new SkillError('NOT_FOUND', 'there is no such file')
  const { path, kind, size } = file
  if (kind !== 'file') throw new SkillError('WRONG_KIND', `${quote(path)} is not a regular file`)
  const bytes = size > maxBytes ? undefined : await file.read(signal)
  if (bytes !== undefined && bytes.length <= maxBytes) return bytes
  throw new SkillError('TOO_LARGE', `${quote(path)} has ${size} bytes; at most ${maxBytes} are read`)
}

/** A folder that is visited, with the skills that contain it. */
interface Visited extends ClassifiedFolder {
  readonly owners: readonly Draft[]
}

interface Draft extends TreeSkill {
  readonly files: TreeFile[]
  readonly found: Diagnostic[]
}

/**
 * Finds the skills of a tree by the rules that also apply to folders on a disk. Reads only `.skillignore` files.
 * `findings` are about entries outside of skills.
 */
export async function findTreeSkills(
  folders: TreeFolders,
  options: ClassifierOptions,
  signal: AbortSignal,
): Promise<{ readonly skills: readonly TreeSkill[]; readonly findings: readonly Diagnostic[] }> {
  const classifier = new EntryClassifier(options)
  const skills: TreeSkill[] = []
  const findings: Diagnostic[] = []
  const waiting: { readonly path: string; readonly parent: Visited | undefined }[] = [
    { path: '', parent: undefined },
  ]
  for (const [index, { path, parent }] of waiting.entries()) {
    if (index === options.limits.maxDirectories) {
      findings.push(describeBudget(options.limits, options.displayPath('')))
      break
    }
    const told: Diagnostic[] = []
    const ignored = await readRules(folders.get(path)?.get(IGNORE_FILE_NAME), options, told, signal)
    const folder = enter({ path, parent, ignored }, folders, classifier, options)
    const { owners, skillFile } = folder
    if (skillFile !== undefined) skills.push(owners.at(-1) as Draft)
    const context: EntryContext = { node: folder, inSkill: owners.length > 0, findings: told }
    for (const entry of classifier.leaveOutEntries(listFolder(folders, path), context)) {
      const kind = await classifier.classify(entry, context)
      const file = folders.get(path)?.get(entry.name)
      if (kind === undefined) continue
      if (file === undefined) waiting.push({ path: joinPath(path, entry.name), parent: folder })
      else if (kind === 'standalone')
        skills.push({ path: file.path, skillFile: file.path, isStandalone: true, files: [file], found: [] })
      else
        for (const owner of owners)
          owner.files.push({ ...file, path: pathWithin(owner, file), read: each => file.read(each) })
    }
    if (owners.length === 0) findings.push(...told)
    for (const { found } of owners) found.push(...told)
  }
  return { skills, findings }
}

function enter(
  {
    path,
    parent,
    ignored,
  }: Pick<ClassifiedFolder, 'path' | 'ignored'> & { readonly parent: Visited | undefined },
  folders: TreeFolders,
  classifier: EntryClassifier,
  { layout }: ClassifierOptions,
): Visited {
  const depth = parent === undefined ? 0 : parent.depth + 1
  const outer = parent?.owners ?? []
  const name = path.slice(path.lastIndexOf('/') + 1)
  const isDiscoverable = parent === undefined || classifier.isDiscoverable(parent, name, outer.length > 0)
  const isThere = (each: string): boolean => folders.get(path)?.get(each) !== undefined
  const skillFile = isDiscoverable ? layout.findSkillFile(isThere, depth) : undefined
  const own = skillFile === undefined ? [] : [{ path, skillFile, isStandalone: false, files: [], found: [] }]
  return { path, depth, parent, isDiscoverable, skillFile, ignored, owners: [...outer, ...own] }
}

async function readRules(
  file: TreeFile | undefined,
  { limits, displayPath }: ClassifierOptions,
  found: Diagnostic[],
  signal: AbortSignal,
): Promise<ClassifiedFolder['ignored']> {
  if (file?.kind !== 'file') return undefined
  try {
    const bytes = await readTreeFile(file, limits.maxFrontmatterBytes, signal)
    return { rules: parseIgnoreFile(decodeUnmarkedText(bytes)) }
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    found.push(describeIgnoreFault(file.path, thrown, displayPath))
    return undefined
  }
}
