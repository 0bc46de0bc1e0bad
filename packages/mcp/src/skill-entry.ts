import type { Skill as SkillEntry } from '@modelcontextprotocol/server/ext/skills'
import { type Logger, readFrontmatter, type Skill, type SkillReader } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { toFileUri, toSkillUri } from './skill-uri.ts'

/** Metadata key for the skill revision that an answer comes from. The value is `sha256:` and 64 digits. */
export const REVISION_META_KEY = 'io.modelcontextprotocol.skills/revision'
/** Metadata key for the generation that an answer comes from. The value is `sha256:` and 64 digits. */
export const GENERATION_META_KEY = 'io.modelcontextprotocol.skills/generation'

/**
 * Converts skill revisions to entries of the Skills extension (SEP-2640). Each revision is converted only once. The
 * frontmatter, files and digests in an entry always belong to the same revision, because all files are read by digest.
 */
export class SkillEntries {
  readonly #reader: SkillReader
  readonly #logger: Logger
  readonly #entries = new WeakMap<Skill, Promise<SkillEntry | undefined>>()

  constructor(reader: SkillReader, logger: Logger) {
    this.#reader = reader
    this.#logger = logger
  }

  /**
   * Returns the entry of a skill, or `undefined` if its frontmatter had to be repaired. Hosts compare the frontmatter
   * in the entry with the file, so a repaired frontmatter would not match. Tools and resources still serve a skill
   * without an entry.
   */
  async get(skill: Skill): Promise<SkillEntry | undefined> {
    const known = this.#entries.get(skill)
    if (known !== undefined) return await known
    const made = this.#create(skill)
    this.#entries.set(skill, made)
    made.catch(() => this.#entries.delete(skill)) // retries after a failed reading
    return await made
  }

  async #create(skill: Skill): Promise<SkillEntry | undefined> {
    // If the skill comes from another MCP server, its list already has the frontmatter, so its files are not read here.
    const frontmatter =
      skill.listedFrontmatter ?? readFrontmatter(await this.#reader.readFile(skill, skill.skillFile))
    if (frontmatter === undefined) {
      this.#logger.warn(
        `${quote(skill.name)} is not offered through the Skills extension: its frontmatter is not valid YAML; the tools serve it`,
        { skill: skill.name, revision: skill.revision },
      )
      return undefined
    }
    return Object.freeze({
      uri: toSkillUri(skill.name, 'SKILL.md'),
      frontmatter: frontmatter as SkillEntry['frontmatter'],
      resources: areFilesKnown(skill)
        ? skill.files
            .map(({ path, digest, size }) => ({ uri: toFileUri(skill, path), digest, size }))
            .sort((a, b) => (a.uri < b.uri ? -1 : 1))
        : 'dynamic',
      _meta: { [REVISION_META_KEY]: skill.revision },
    })
  }
}

/**
 * Whether the files of a skill are known. If another MCP server offers a skill without digests, they are unknown until
 * the skill is loaded: then its SKILL.md has no bytes.
 */
export function areFilesKnown({ files, skillFile }: Skill): boolean {
  return files.some(({ path, size }) => path === skillFile && size > 0)
}
