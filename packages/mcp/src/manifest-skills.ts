import type { Client } from '@modelcontextprotocol/client'
import type { Skill as SkillEntry } from '@modelcontextprotocol/client/ext/skills'
import { readFrontmatter, SkillError } from '@skillstoke/core'
import { decodeText, quote, toMessage } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { assertSize, type EntryReader, type ReadOptions, sizeOf } from './remote-skill.ts'

const NO_SKILLS =
  'the server offers neither the Skills extension (io.modelcontextprotocol/skills) nor a resource skill://<name>/SKILL.md'

/** True if a skill is at fault, and false if the connection or the server is. */
function isAboutSkill(thrown: unknown): boolean {
  if (SkillError.isInstance(thrown) || thrown instanceof SyntaxError) return true
  // The server answered the request with an error.
  return typeof (thrown as { readonly code?: unknown }).code === 'number'
}

/**
 * Reads the skills of a server without the Skills extension, which lists the files of each skill as the resource
 * `skill://<name>/_manifest`. FastMCP 3 and the first versions of FastMCP 4 offer skills in this form. Reads each
 * SKILL.md for the list, because only this file has the frontmatter.
 */
export class ManifestSkills implements EntryReader {
  readonly directoryRead = false
  readonly #client: Client
  readonly #maxSkills: number

  constructor(client: Client, maxSkills: number) {
    this.#client = client
    this.#maxSkills = maxSkills
  }

  async list(_cursor: undefined, options: ReadOptions): ReturnType<EntryReader['list']> {
    const { resources } = await this.#client.listResources(undefined, options)
    const uris = resources.map(({ uri }) => uri).filter(uri => /^skill:\/\/.+\/SKILL\.md$/.test(uri))
    // An empty list may also mean that the last skill was deleted, which must not keep it alive.
    if (uris.length === 0) return { skills: [], invalid: [{ uri: 'skill://', index: 0, reason: NO_SKILLS }] }
    if (uris.length > this.#maxSkills)
      throw new SkillError('TOO_LARGE', `it lists ${uris.length} skills; at most ${this.#maxSkills} are read`)
    const skills: SkillEntry[] = []
    const invalid: { uri: string; index: number; reason: string }[] = []
    for (const [index, uri] of uris.entries()) {
      try {
        skills.push(await this.#readEntry(uri, options))
      } catch (thrown) {
        options.signal.throwIfAborted()
        if (!isAboutSkill(thrown)) throw thrown
        invalid.push({ uri, index, reason: toMessage(thrown) })
      }
    }
    return { skills, invalid }
  }

  async read(
    { resources }: Pick<SkillEntry, 'resources'>,
    uri: string,
    options: ReadOptions,
  ): ReturnType<EntryReader['read']> {
    const bytes = await this.#readBytes(uri, options)
    const listed = resources === 'dynamic' ? undefined : resources.find(file => file.uri === uri)
    if (bytes.length !== listed?.size)
      throw new SkillError(
        'IO_FAILED',
        `${uri} has ${bytes.length} bytes, but _manifest lists ${listed?.size}`,
      )
    const digest = `sha256:${portableHasher.sha256(bytes)}`
    if (digest !== listed.digest)
      throw new SkillError(
        'IO_FAILED',
        `${uri} has the digest ${digest}, but _manifest lists ${listed.digest}`,
      )
    return { bytes }
  }

  readDirectory(): never {
    throw new Error('a manifest lists all files')
  }

  async #readEntry(uri: string, options: ReadOptions): Promise<SkillEntry> {
    const root = uri.replace(/SKILL\.md$/, '')
    const resources = toResources(root, decodeText(await this.#readBytes(`${root}_manifest`, options)) ?? '')
    assertSize(sizeOf({ resources }))
    const { bytes } = await this.read({ resources }, uri, options)
    const frontmatter = readFrontmatter(bytes)
    if (frontmatter === undefined) throw new SkillError('IO_FAILED', 'its frontmatter is not valid YAML')
    return { uri, frontmatter: frontmatter as SkillEntry['frontmatter'], resources }
  }

  async #readBytes(uri: string, options: ReadOptions): Promise<Uint8Array> {
    const { contents } = await this.#client.readResource({ uri }, options)
    const [content] = contents
    if (content === undefined) throw new SkillError('IO_FAILED', `${uri} has no contents`)
    return 'text' in content
      ? new TextEncoder().encode(content.text)
      : new Uint8Array(Buffer.from(content.blob, 'base64'))
  }
}

function toResources(root: string, text: string): Exclude<SkillEntry['resources'], 'dynamic'> {
  const { files } = JSON.parse(text) as { readonly files?: unknown }
  if (!Array.isArray(files)) throw new SkillError('IO_FAILED', 'its _manifest has no list "files"')
  return files.map((file: Partial<Record<string, unknown>>) => {
    const { path, size, hash } = file
    if (
      typeof path !== 'string' ||
      !Number.isSafeInteger(size) ||
      Number(size) < 0 ||
      !/^sha256:[0-9a-f]{64}$/.test(String(hash))
    )
      throw new SkillError(
        'IO_FAILED',
        `its _manifest has the file ${quote(JSON.stringify(file))}; each file needs path, size and hash (sha256)`,
      )
    return {
      uri: root + path.split('/').map(encodeURIComponent).join('/'),
      size: Number(size),
      digest: String(hash),
    }
  })
}
