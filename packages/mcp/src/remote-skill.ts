import type { Skill as SkillEntry } from '@modelcontextprotocol/client/ext/skills'
import { SkillError } from '@skillstoke/core'
import { findPathFault, quote } from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchedFile,
  type ListedSkill,
  type SkillFile,
  type SkillStore,
  storeRetrieved,
} from '@skillstoke/core/source'

const MAX_SKILL_BYTES = 16 * 1024 * 1024
const MAX_DYNAMIC_ENTRIES = 1_000
/** Equals `DIRECTORY_MIME_TYPE` of the MCP SDK. Repeated here, because loading the SDK is slow. */
const DIRECTORY_TYPE = 'inode/directory'

/** A listed skill with its entry, which names the URI of each file. */
export interface McpSkill extends ListedSkill {
  readonly entry: Pick<SkillEntry, 'uri' | 'frontmatter' | 'resources'>
}

/** The options of a request to a server. */
export interface ReadOptions {
  readonly signal: AbortSignal
}

/** What a source calls of the `SkillsClient` of the SDK. */
export interface EntryReader {
  readonly directoryRead: boolean
  list(
    params: undefined,
    options: ReadOptions,
  ): Promise<{
    readonly skills: readonly SkillEntry[]
    readonly invalid: readonly { readonly uri?: string; readonly index: number; readonly reason: string }[]
  }>
  /** Reads a file of a skill, and verifies its digest. */
  read(entry: McpSkill['entry'], uri: string, options: ReadOptions): Promise<{ readonly bytes: Uint8Array }>
  readDirectory(
    uri: string,
    options: ReadOptions,
  ): Promise<{
    readonly resources: readonly { readonly uri: string; readonly mimeType?: string | undefined }[]
  }>
}

/** @throws {SkillError} INVALID_PATH, TOO_LARGE */
export function toListed({ uri, frontmatter, resources }: SkillEntry): McpSkill {
  const location = folderOf(uri)
  if (location === undefined) throw new SkillError('INVALID_PATH', 'its URI cannot be decoded')
  const fault = findPathFault(location)
  if (fault !== undefined) throw new SkillError('INVALID_PATH', `its folder ${quote(location)} ${fault}`)
  assertSize(sizeOf({ resources }))
  const root = rootOf(uri)
  const files =
    resources === 'dynamic'
      ? []
      : resources.map(file => ({
          path: pathOf(file.uri, root),
          digest: file.digest as SkillFile['digest'],
          size: file.size,
          isExecutable: false,
        }))
  const skillFile = pathOf(uri, root)
  return { location, skillFile, frontmatter, files, entry: { uri, frontmatter, resources } }
}

/**
 * Reads and stores the files of a skill that the store does not have. Reads the SKILL.md first, so that no other file is
 * read if its frontmatter or digest is wrong.
 */
export async function readFiles(
  skills: EntryReader,
  skill: McpSkill,
  { store, hasher, signal }: Omit<FetchContext, 'known'>,
  budget: { left: number },
): Promise<ListedSkill> {
  const { entry, skillFile } = skill
  const read = async (uri: string, path: string): Promise<FetchedFile> => {
    const { bytes } = await skills.read(entry, uri, { signal })
    return { path, kind: 'file', bytes, isExecutable: false }
  }
  if (entry.resources === 'dynamic') {
    const files: FetchedFile[] = []
    let total = 0
    const add = async (uri: string, path: string): Promise<void> => {
      const file = await read(uri, path)
      total += file.bytes.length
      assertSize(total, budget.left)
      files.push(file)
    }
    await add(entry.uri, skillFile)
    for (const { uri, path } of await listDynamic(skills, entry.uri, signal))
      if (path !== skillFile) await add(uri, path)
    budget.left -= total
    return storeRetrieved(skill, files, { store, hasher })
  }
  const root = rootOf(entry.uri)
  const files: FetchedFile[] = []
  const sorted = entry.resources.toSorted((a, b) => Number(b.uri === entry.uri) - Number(a.uri === entry.uri))
  for (const { uri, digest } of sorted) {
    const isStored = (await store.get(digest as SkillFile['digest'])) !== undefined
    if (!isStored) files.push(await read(uri, pathOf(uri, root)))
  }
  storeRetrieved(skill, files, { store, hasher })
  return skill
}

/** Lists the files of a skill that has no list of files, if the server can list folders. */
async function listDynamic(
  skills: EntryReader,
  uri: string,
  signal: AbortSignal,
): Promise<readonly { readonly uri: string; readonly path: string }[]> {
  if (!skills.directoryRead) return []
  const root = rootOf(uri)
  const folders = [root.replace(/\/$/, '')]
  const files: { uri: string; path: string }[] = []
  for (const folder of folders) {
    const { resources } = await skills.readDirectory(folder, { signal })
    for (const child of resources) {
      const path = pathOf(child.uri, root)
      if (child.mimeType === DIRECTORY_TYPE) folders.push(child.uri)
      else files.push({ uri: child.uri, path })
      if (files.length + folders.length > MAX_DYNAMIC_ENTRIES)
        throw new SkillError('TOO_LARGE', `it has more than ${MAX_DYNAMIC_ENTRIES} files and folders`)
    }
  }
  return files
}

/** Whether all files of a skill were retrieved. */
export function isRetrieved(skill: ListedSkill | undefined, store: SkillStore): boolean {
  return skill !== undefined && skill.files.length > 0 && skill.files.every(({ digest }) => store.has(digest))
}

/** Returns the folder URI of a skill, with a trailing slash. */
function rootOf(uri: string): string {
  return uri.replace(/[^/]*$/, '')
}

/** @throws {SkillError} INVALID_PATH */
function pathOf(uri: string, root: string): string {
  if (!uri.startsWith(root))
    throw new SkillError('INVALID_PATH', `its file ${quote(uri)} is outside its folder`)
  try {
    return decodeURIComponent(uri.slice(root.length))
  } catch {
    throw new SkillError('INVALID_PATH', `its file ${quote(uri)} cannot be decoded`)
  }
}

/** @throws {SkillError} TOO_LARGE */
export function assertSize(bytes: number, left: number = MAX_SKILL_BYTES): void {
  const limit = Math.min(MAX_SKILL_BYTES, left)
  if (bytes > limit) throw new SkillError('TOO_LARGE', `it has ${bytes} bytes; at most ${limit} are read`)
}

/** Returns the total size that the entry of a skill declares, in bytes. */
export function sizeOf({ resources }: Pick<SkillEntry, 'resources'>): number {
  return resources === 'dynamic' ? 0 : resources.reduce((sum, { size }) => sum + size, 0)
}

/**
 * Returns the folder of a skill, for example `a/b` for `skill://a/b/SKILL.md`. Returns `undefined` if the URI cannot be
 * decoded.
 */
export function folderOf(uri: string): string | undefined {
  const path = uri.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/[^/]*$/, '')
  try {
    return path.split('/').map(decodeURIComponent).join('/')
  } catch {
    return undefined
  }
}
