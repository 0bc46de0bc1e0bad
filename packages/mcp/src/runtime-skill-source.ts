import { ProtocolError, ProtocolErrorCode, type Resource } from '@modelcontextprotocol/server'
import {
  DIRECTORY_MIME_TYPE,
  type Skill as SkillEntry,
  type SkillReadResult,
  type SkillSource,
} from '@modelcontextprotocol/server/ext/skills'
import type { Generation, Logger, Skill, SkillReader } from '@skillstoke/core'
import { decodeText } from '@skillstoke/core/internal'
import { mediaTypeOf } from './media-type.ts'
import { SkillEntries } from './skill-entry.ts'
import { MANIFEST_FILE, parseSkillUri, toFilePath, toFileUri, toSkillUri } from './skill-uri.ts'

export interface RuntimeSkillSourceOptions {
  /** Maximum number of entries in one answer. */
  readonly pageSize: number
  readonly logger: Logger
}

/**
 * Maximum time that a request waits for writes to settle, in milliseconds. A normal burst is shorter. During continuous
 * writes, answers come from the last complete generation, so they are consistent with each other.
 */
const BOUND = { maxWaitMs: 500 }

interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor?: string
}

/** A file of a skill, with the revision and the generation that the content comes from. */
export interface SkillFileReading {
  readonly content: SkillReadResult
  readonly skill: Skill
  readonly generation: Generation
}

/**
 * Answers requests of the Skills extension. Each answer comes from one generation. The answer includes every file that
 * was saved before the request, unless continuous writes last longer than 500 ms. A cursor is the name of the last
 * entry on the previous page. So the next page is correct even if skills were added or removed.
 */
export class RuntimeSkillSource implements SkillSource {
  readonly #reader: SkillReader
  readonly #pageSize: number
  readonly #entries: SkillEntries

  constructor(reader: SkillReader, options: RuntimeSkillSourceOptions) {
    this.#reader = reader
    this.#pageSize = options.pageSize
    this.#entries = new SkillEntries(reader, options.logger)
  }

  async list({ cursor }: { cursor?: string }): Promise<{ skills: SkillEntry[]; nextCursor?: string }> {
    const { items, nextCursor } = this.#page(this.#inScope(await this.#reader.fresh(BOUND)), cursor, nameOf)
    const entries = await Promise.all(items.map(skill => this.#entries.get(skill)))
    return {
      skills: entries.filter(entry => entry !== undefined),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    }
  }

  async get(uri: string): Promise<SkillEntry | undefined> {
    const place = parseSkillUri(uri)
    if (place?.path !== MANIFEST_FILE) return undefined
    const skill = this.#find(await this.#reader.fresh(BOUND), place.name)
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
    const place = parseSkillUri(uri)
    if (place === undefined) return undefined
    const generation = await this.#reader.fresh(BOUND)
    const skill = this.#find(generation, place.name)
    const path = skill === undefined ? '' : toFilePath(skill, place.path)
    if (skill === undefined || !skill.files.some(file => file.path === path)) return undefined
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
    const place = parseSkillUri(uri)
    if (place === undefined) return undefined
    const skill = this.#find(await this.#reader.fresh(BOUND), place.name)
    const children = skill === undefined ? [] : childrenOf(skill, place.path)
    if (children.length === 0) return undefined
    const { items, nextCursor } = this.#page(children, cursor, child => child.uri)
    return { resources: [...items], ...(nextCursor === undefined ? {} : { nextCursor }) }
  }

  /** Returns one page of `resources/list`. The list contains the SKILL.md of each skill. */
  async listManifests(
    cursor: string | undefined,
  ): Promise<{ resources: Resource[]; nextCursor?: string; generation: Generation }> {
    const generation = await this.#reader.fresh(BOUND)
    const { items, nextCursor } = this.#page(this.#inScope(generation), cursor, nameOf)
    return {
      resources: items.map(skill => ({
        uri: toSkillUri(skill.name, MANIFEST_FILE),
        name: skill.name,
        description: skill.description,
        mimeType: mediaTypeOf(MANIFEST_FILE),
      })),
      ...(nextCursor === undefined ? {} : { nextCursor }),
      generation,
    }
  }

  #find(generation: Generation, name: string): Skill | undefined {
    return this.#reader.isInScope(name) ? generation.find(name) : undefined
  }

  #inScope(generation: Generation): readonly Skill[] {
    return generation.list().filter(skill => this.#reader.isInScope(skill.name))
  }

  /** @param items sorted by their key */
  #page<T>(items: readonly T[], cursor: string | undefined, keyOf: (item: T) => string): Page<T> {
    const after = cursor === undefined ? undefined : decodeCursor(cursor)
    const start = after === undefined ? 0 : items.findIndex(item => compareCodePoints(keyOf(item), after) > 0)
    if (start < 0) return { items: [] }
    const page = items.slice(start, start + this.#pageSize)
    const last = page.at(-1)
    const hasMore = last !== undefined && start + page.length < items.length
    return hasMore ? { items: page, nextCursor: encodeCursor(keyOf(last)) } : { items: page }
  }
}

function nameOf(skill: Skill): string {
  return skill.name
}

/** Compares names by their UTF-8 bytes, because the skills of a generation are sorted in this order. */
function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function encodeCursor(key: string): string {
  return Buffer.from(key).toString('base64url')
}

function decodeCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (encodeCursor(key) !== cursor) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `the cursor ${JSON.stringify(cursor)} is not from this server; start without a cursor`,
    )
  }
  return key
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
  return [...children.values()].sort((a, b) => compareCodePoints(a.uri, b.uri))
}
