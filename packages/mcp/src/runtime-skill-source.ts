import type { Resource } from '@modelcontextprotocol/server'
import {
  DIRECTORY_MIME_TYPE,
  type Skill as SkillEntry,
  type SkillReadResult,
  type SkillSource,
} from '@modelcontextprotocol/server/ext/skills'
import type { Generation, Skill, SkillReader } from '@skillstoke/core'
import { compareText, decodeText, defined, freshOrKnown, useNewest } from '@skillstoke/core/internal'
import type { ResolvedMcpOptions } from './mcp-options.ts'
import { mediaTypeOf } from './media-type.ts'
import { requireShort } from './message-faults.ts'
import { toPage } from './page.ts'
import { areFilesKnown, SkillEntries } from './skill-entry.ts'
import { iconsOf, titleOf } from './skill-face.ts'
import { MANIFEST_FILE, parseSkillUri, toFilePath, toFileUri, toSkillUri } from './skill-uri.ts'

/**
 * Maximum time that a list waits for writes to settle, in milliseconds. A normal burst is shorter. During continuous
 * writes, lists come from the last complete generation, and a notification follows.
 */
const MAX_LIST_WAIT_MS = 500

/** The list of skills that clients of FastMCP and of drafts of the Skills extension read. */
const INDEX_URI = 'skill://index.json'
const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
/** Path of the list of files that clients of FastMCP read. */
const FILE_LIST = '_manifest'

/** A file of a skill, with the revision and the generation that the content comes from. */
export interface SkillFileReading {
  readonly content: SkillReadResult
  /** Absent if the content is about all skills. */
  readonly skill?: Skill
  readonly generation: Generation
}

/**
 * Answers requests of the Skills extension. Each answer comes from one generation. An answer about one skill includes
 * every file that was saved before the request, or fails. A cursor is the name of the last entry on the previous page.
 * So the next page is correct even if skills were added or removed.
 */
export class RuntimeSkillSource implements SkillSource {
  readonly #reader: SkillReader
  readonly #pageSize: number
  readonly #entries: SkillEntries

  constructor(reader: SkillReader, options: ResolvedMcpOptions) {
    this.#reader = reader
    this.#pageSize = options.pageSize
    this.#entries = new SkillEntries(reader, options.logger)
  }

  async list({ cursor }: { cursor?: string }): Promise<{ skills: SkillEntry[]; nextCursor?: string }> {
    const { items, next } = await this.#page(cursor)
    const entries = await Promise.all(items.map(skill => this.#entries.get(skill)))
    return { skills: entries.filter(entry => entry !== undefined), ...next }
  }

  async get(uri: string): Promise<SkillEntry | undefined> {
    requireShort('URI', uri)
    const place = parseSkillUri(uri)
    if (place?.path !== MANIFEST_FILE) return undefined
    const skill = this.#find(await this.#lookAgain(place.name), place.name)
    return skill === undefined ? undefined : await this.#entries.get(skill)
  }

  async read(uri: string): Promise<SkillReadResult | undefined> {
    return (await this.readFile(uri))?.content
  }

  /**
   * Returns the same content as `read()`, together with the skill revision and the generation of that content. Returns
   * `undefined` if no such file is served.
   */
  async readFile(uri: string): Promise<SkillFileReading | undefined> {
    if (uri === INDEX_URI) return await this.#readIndex()
    const place = parseSkillUri(uri)
    if (place === undefined) return undefined
    const asked = { generation: await this.#lookAgain(place.name), name: place.name }
    return await useNewest(this.#reader, asked, async generation => await this.#readFrom(generation, place))
  }

  async #readIndex(): Promise<SkillFileReading> {
    const generation = await freshOrKnown(this.#reader, MAX_LIST_WAIT_MS)
    const skills = this.#inScope(generation).map(({ name, description }) => {
      return { name, type: 'skill-md', description, url: toSkillUri(name, MANIFEST_FILE) }
    })
    return { content: toJson({ $schema: INDEX_SCHEMA, skills }), generation }
  }

  async #readFrom(
    generation: Generation,
    place: { readonly name: string; readonly path: string },
  ): Promise<SkillFileReading | undefined> {
    const skill = this.#find(generation, place.name)
    const path = skill === undefined ? '' : toFilePath(skill, place.path)
    if (skill === undefined) return undefined
    if (!skill.files.some(file => file.path === path)) {
      const isList = path === FILE_LIST && areFilesKnown(skill)
      return isList ? { content: toJson(listFiles(skill)), skill, generation } : undefined
    }
    const bytes = await this.#reader.readFile(skill, path)
    // Keeps even a byte order mark when decoding the file, so that clients can verify the digest.
    const text = decodeText(bytes)
    const mimeType = mediaTypeOf(path)
    return { content: text === undefined ? { bytes, mimeType } : { text, mimeType }, skill, generation }
  }

  async readDirectory(
    uri: string,
    { cursor }: { cursor?: string },
  ): Promise<{ resources: Resource[]; nextCursor?: string } | undefined> {
    requireShort('URI', uri)
    const place = parseSkillUri(uri)
    if (place === undefined) return undefined
    const skill = this.#find(await this.#lookAgain(place.name), place.name)
    const children = skill === undefined ? [] : childrenOf(skill, place.path)
    if (children.length === 0) return undefined
    const { items, ...next } = toPage(children, cursor, child => child.uri, this.#pageSize)
    return { resources: [...items], ...next }
  }

  /** Returns one page of `resources/list`. The list contains the SKILL.md of each skill. */
  async listManifests(
    cursor: string | undefined,
  ): Promise<{ resources: Resource[]; nextCursor?: string; generation: Generation }> {
    const { generation, items, next } = await this.#page(cursor)
    return { resources: await Promise.all(items.map(skill => this.#toResource(skill))), ...next, generation }
  }

  async #page(
    cursor: string | undefined,
  ): Promise<{ generation: Generation; items: readonly Skill[]; next: { nextCursor?: string } }> {
    const generation = await freshOrKnown(this.#reader, MAX_LIST_WAIT_MS)
    const { items, ...next } = toPage(this.#inScope(generation), cursor, nameOf, this.#pageSize)
    return { generation, items, next }
  }

  /** Completes the variables of the template `skill://{name}/{+path}`: names of skills, and paths of their files. */
  completeUri(variable: string, typed: string, known: Readonly<Record<string, string>>): readonly string[] {
    const { current } = this.#reader
    if (variable === 'name')
      return this.#inScope(current)
        .map(nameOf)
        .filter(name => name.startsWith(typed))
    const skill = variable === 'path' ? this.#find(current, known['name'] ?? '') : undefined
    return (skill?.files ?? [])
      .map(({ path }) => (path === skill?.skillFile ? MANIFEST_FILE : path))
      .filter(path => path.startsWith(typed))
  }

  async #toResource(skill: Skill): Promise<Resource> {
    return {
      uri: toSkillUri(skill.name, MANIFEST_FILE),
      name: skill.name,
      description: skill.description,
      mimeType: mediaTypeOf(MANIFEST_FILE),
      ...defined({ title: titleOf(skill), icons: await iconsOf(skill, this.#reader) }),
    }
  }

  async #lookAgain(name: string): Promise<Generation> {
    return this.#reader.isInScope(name) ? await this.#reader.refresh(name) : this.#reader.current
  }

  #find(generation: Generation, name: string): Skill | undefined {
    return this.#reader.isInScope(name) ? generation.find(name) : undefined
  }

  #inScope(generation: Generation): readonly Skill[] {
    return generation.list().filter(skill => this.#reader.isInScope(skill.name))
  }
}

/** Lists the files of a skill in the form of FastMCP. */
function listFiles(skill: Skill): object {
  const files = skill.files.map(({ path, size, digest }) => {
    return { path: path === skill.skillFile ? MANIFEST_FILE : path, size, hash: digest }
  })
  return { skill: skill.name, files }
}

function toJson(value: object): SkillReadResult {
  return { text: JSON.stringify(value, undefined, 2), mimeType: 'application/json' }
}

function nameOf(skill: Skill): string {
  return skill.name
}

/**
 * Returns the direct children of a folder in a skill, sorted by URI. If the folder does not exist, returns an empty
 * list.
 */
function childrenOf(skill: Skill, directory: string): Resource[] {
  const prefix = directory === '' ? '' : `${directory}/`
  const children = new Map<string, Resource>()
  for (const file of skill.files) {
    if (!file.path.startsWith(prefix)) continue
    const [name = '', ...rest] = file.path.slice(prefix.length).split('/')
    if (rest.length > 0) {
      const uri = toSkillUri(skill.name, `${prefix}${name}`)
      children.set(uri, { uri, name, mimeType: DIRECTORY_MIME_TYPE })
    } else {
      const uri = toFileUri(skill, file.path)
      const shown = file.path === skill.skillFile ? MANIFEST_FILE : name
      children.set(uri, { uri, name: shown, mimeType: mediaTypeOf(shown), size: file.size })
    }
  }
  return [...children.values()].sort((a, b) => compareText(a.uri, b.uri))
}
