import { type FileStat, toCompact } from '../fs/file-system.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill, SkillPlace } from '../skill/skill.ts'
import type { SkillDescription } from '../skill/skill-fields.ts'
import type { FolderNote } from '../store/folder-notes.ts'
import {
  attach,
  createDirectoryNode,
  createFileNode,
  type DirectoryNode,
  type FileNode,
  NOT_ASCII,
  pathWithin,
  subtree,
} from './mirror.ts'

/** Version of the note format. Increase the version when the format changes, or when a SKILL.md is read differently. */
export const NOTE_FORM = 3

/** No note is written for a folder that contains more directories than this. */
export const MOST_DIRECTORIES = 100

// The numbers in one row of a note: seven fields of a `FileStat`, the flags, and the number of bytes that were read.
const FACTS = 9
const FLAGS = 7
const SIZE = 8
const EXECUTABLE = 1
const RACY = 2
const ENDS_LINE = 4
const DISCOVERABLE = 8
const PREFIX = 'sha256:'

/** The JSON text of a note. */
interface NoteText {
  /**
   * For each directory, the index of its parent directory and its own name. The folder of the skill comes first. Its
   * parent index is -1.
   */
  readonly directories: readonly (readonly [parent: number, name: string])[]
  /** Files in the order of the manifest. */
  readonly files: readonly (readonly [directory: number, name: string, digest: string])[]
  readonly skillFile: string
  readonly fields: SkillDescription
  readonly frontmatterDigest: Digest
  readonly bodyDigest: Digest
  readonly revision: Digest
  readonly diagnostics: readonly Diagnostic[]
  /** The options that the messages of the diagnostics depend on. Absent if the note has no diagnostics. */
  readonly wording?: string
}

/** A folder restored from its note. */
export interface NotedFolder {
  readonly skillFile: string
  readonly files: readonly SkillFile[]
  /** Restores the skill. */
  toSkill(place: SkillPlace): Skill
}

/**
 * Makes the note of a skill's folder. Returns `undefined` for folders that every new process must read: broken skills,
 * links, nested skills, files with several hard links, and folders with entries that were left out or unreadable.
 */
export function noteFolder(folder: DirectoryNode, wording: string): FolderNote | undefined {
  const { skill, isLinked } = folder.entry ?? {}
  if (skill === undefined || isLinked === true || folder.isStandalone || !isPlainValue(skill.extra))
    return undefined
  if (hasRulesAbove(folder)) return undefined
  const directories = [...subtree(folder)]
  if (directories.length > MOST_DIRECTORIES) return undefined
  if (!directories.every(directory => isPlainDirectory(directory, folder))) return undefined
  const files = findFiles(folder, directories, skill.files)
  if (files === undefined) return undefined
  const { source: _source, location: _location, directory: _directory, files: _files, ...rest } = skill
  const { skillFile, frontmatterDigest, bodyDigest, revision, diagnostics, ...fields } = rest
  const facts = new Float64Array((directories.length + files.length) * FACTS)
  for (const [index, { stat, isRacy, isDiscoverable }] of directories.entries())
    writeFacts(facts, index, stat as FileStat, (isRacy ? RACY : 0) | (isDiscoverable ? DISCOVERABLE : 0), 0)
  for (const [index, { file }] of files.entries()) {
    const flags = (file.isRacy ? RACY : 0) | (file.believed?.endsLine === true ? ENDS_LINE : 0)
    writeFacts(facts, directories.length + index, file.stat as FileStat, flags, file.size)
  }
  const text: NoteText = {
    directories: directories.map(({ parent, name }) => [
      parent === undefined ? -1 : directories.indexOf(parent),
      name,
    ]),
    files: files.map(({ directory, file }) => [
      directories.indexOf(directory),
      file.name,
      (file.digest as Digest).slice(PREFIX.length),
    ]),
    ...{ skillFile, fields, frontmatterDigest, bodyDigest, revision, diagnostics },
    ...(diagnostics.length === 0 ? {} : { wording }),
  }
  return { revision, facts, text: JSON.stringify(text) }
}

/**
 * Fills a new folder of the mirror from its note. Returns the added directories. Returns `undefined` if the note has
 * diagnostics, and the options that affect their messages have changed since the note was written.
 */
export function recallFolder(
  folder: DirectoryNode,
  { facts, text }: FolderNote,
  wording: string,
): { readonly noted: NotedFolder; readonly added: readonly DirectoryNode[] } | undefined {
  const {
    directories,
    files,
    skillFile,
    fields,
    wording: notedWording,
    ...rest
  } = JSON.parse(text) as NoteText
  if (notedWording !== undefined && notedWording !== wording) return undefined
  const nodes = [folder]
  for (const [index, [parent, name]] of directories.entries()) {
    if (index > 0) {
      const above = nodes[parent] as DirectoryNode
      const isDiscoverable = hasFlag(facts, index, DISCOVERABLE)
      const node = createDirectoryNode({ name, parent: above, isLink: false, isDiscoverable })
      attach(node, above)
      nodes.push(node)
    }
    const node = nodes[index] as DirectoryNode
    node.stat = readFacts(facts, index, 'directory')
    node.isRacy = hasFlag(facts, index, RACY)
  }
  const manifest = files.map(([directory, name, digits], at) => {
    const index = directories.length + at
    const node = nodes[directory] as DirectoryNode
    const file = createFileNode(name, false)
    const digest: Digest = `sha256:${digits}`
    file.stat = readFacts(facts, index, 'file')
    file.digest = digest
    file.size = toCompact(facts[index * FACTS + SIZE] as number)
    file.isRacy = hasFlag(facts, index, RACY)
    const { ino, ctimeMs } = file.stat
    const endsLine = hasFlag(facts, index, ENDS_LINE)
    file.believed = { ino, size: file.size, endsLine, ...(file.isRacy ? {} : { ctimeMs }) }
    node.files.set(file.name, file)
    const path = pathOf(folder, node, name)
    return Object.freeze({ path, digest, size: file.size, isExecutable: file.stat.isExecutable })
  })
  folder.skillFile = skillFile
  Object.freeze(manifest)
  Object.freeze(rest.diagnostics)
  const toSkill = (place: SkillPlace): Skill =>
    Object.freeze({ ...freezeFields(fields), ...place, files: manifest, ...rest })
  return { noted: { skillFile, files: manifest, toSkill }, added: nodes.slice(1) }
}

/**
 * Whether a `.skillignore` above a folder may exclude files of the folder. A note of the folder does not contain the
 * rules of a `.skillignore` above the folder.
 */
export function hasRulesAbove({ parent }: DirectoryNode): boolean {
  for (let at = parent; at !== undefined; at = at.parent) if ((at.ignored?.text ?? '') !== '') return true
  return false
}

function isPlainDirectory(directory: DirectoryNode, folder: DirectoryNode): boolean {
  const { stat, isLink, ignored, findings, skillFile } = directory
  const isOther = directory !== folder && (isLink || skillFile !== undefined)
  return stat !== undefined && !isOther && ignored === undefined && findings.length === 0
}

function isPlainFile({ stat, isLink, isShared, findings, fault }: FileNode): boolean {
  return stat !== undefined && !isLink && !isShared && findings.length === 0 && fault === undefined
}

interface PlacedFile {
  readonly directory: DirectoryNode
  readonly file: FileNode
}

/**
 * Finds the files of a manifest in the mirror. Returns `undefined` if files or bytes in the mirror differ from the
 * manifest.
 */
function findFiles(
  folder: DirectoryNode,
  directories: readonly DirectoryNode[],
  manifest: readonly SkillFile[],
): readonly PlacedFile[] | undefined {
  const known = new Map<string, PlacedFile>()
  for (const directory of directories)
    for (const file of directory.files.values()) {
      if (!isPlainFile(file)) return undefined
      known.set(pathOf(folder, directory, file.name), { directory, file })
    }
  const files = manifest.map(({ path, digest }) => {
    const placed = known.get(path)
    return placed?.file.digest === digest ? placed : undefined
  })
  if (known.size !== manifest.length) return undefined
  return files.every(placed => placed !== undefined) ? files : undefined
}

function pathOf(folder: DirectoryNode, directory: DirectoryNode, name: string): string {
  const within = pathWithin(folder, directory)
  const path = within === '' ? name : `${within}/${name}`
  return NOT_ASCII.test(path) ? path.normalize('NFC') : path
}

function writeFacts(facts: Float64Array, index: number, stat: FileStat, flags: number, size: number): void {
  const { size: length, mtimeMs, ctimeMs, birthtimeMs, ino, dev, links, isExecutable } = stat
  const all = flags | (isExecutable ? EXECUTABLE : 0)
  facts.set([length, mtimeMs, ctimeMs, birthtimeMs, ino, dev, links, all, size], index * FACTS)
}

function readFacts(facts: Float64Array, index: number, kind: FileStat['kind']): FileStat {
  const at = index * FACTS
  const numberAt = (offset: number): number => facts[at + offset] as number
  return {
    kind,
    size: toCompact(numberAt(0)),
    mtimeMs: numberAt(1),
    ctimeMs: numberAt(2),
    ino: toCompact(numberAt(4)),
    dev: toCompact(numberAt(5)),
    birthtimeMs: numberAt(3),
    links: toCompact(numberAt(6)),
    isExecutable: hasFlag(facts, index, EXECUTABLE),
  }
}

function hasFlag(facts: Float64Array, index: number, flag: number): boolean {
  return ((facts[index * FACTS + FLAGS] as number) & flag) !== 0
}

function freezeFields(fields: SkillDescription): SkillDescription {
  freezeValue(fields.metadata)
  freezeValue(fields.extra)
  freezeValue(fields.allowedTools)
  return fields
}

function freezeValue(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) freezeValue(inner)
  Object.freeze(value)
}

/** Whether a value stays the same when it is converted to JSON and back. */
function isPlainValue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isPlainValue)
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}
