import type { CatalogCache } from '../catalog/catalog-cache.ts'
import type { CatalogFormatName } from '../catalog/catalog-format.ts'
import type { SkillCatalog } from '../catalog/render-catalog.ts'
import { createScopeTest, type ScopeTest, type SkillScope } from '../catalog/scope.ts'
import type { SearchHit, SkillSearch } from '../catalog/skill-search.ts'
import { SkillError } from '../errors.ts'
import { checkOptions, type KnownOptions, number } from '../options.ts'
import { quote } from '../quote.ts'
import { checkConversationIdentity } from '../registry/conversation-identity.ts'
import type { Generation } from '../registry/generation.ts'
import { createSkillNotFound } from '../registry/skill-not-found.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { Digest } from '../skill/digest.ts'
import { splitAnyText } from '../skill/frontmatter.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { LoadedSkill, Skill } from '../skill/skill.ts'
import { decodeAnyText } from '../skill/text.ts'
import type { SourceReaders } from '../sync/source-readers.ts'
import { type CommandOffer, type CommandOffers, NO_COMMANDS } from './command-offer.ts'
import { type Explained, explain, explainFromSources } from './explain.ts'
import type { SkillExplanation, ToldConversation } from './explain-skill.ts'
import type { RecapturingStore } from './recapturing-store.ts'
import { useNewest } from './use-newest.ts'

/** The objects that all readers of a runtime share. */
export interface ReaderParts {
  readonly registry: SkillRegistry
  readonly sources: SourceReaders
  /** A store that reads missing bytes from their source. */
  readonly store: RecapturingStore
  readonly catalogs: CatalogCache
  readonly index: SkillSearch
  /** @default no commands */
  readonly commands?: CommandOffers
}

/** The skills that one conversation sees. */
export interface ConversationView {
  /**
   * Identity of the conversation: `conversation` of its session. If given, the reader also returns revisions that the
   * conversation wrote and no person has approved yet. @default only approved revisions
   */
  readonly id?: string
  /** The skills that the conversation may see. @default all */
  readonly scope?: SkillScope
  /**
   * The only generation that the reader uses. If a generation is given, the reader never reads the sources. @default
   * the newest
   */
  readonly pinned?: Generation | undefined
}

export interface FreshOptions {
  /**
   * Maximum wait, in milliseconds. After this time, the call fails with TIMED_OUT. @default Infinity, which is no limit
   */
  readonly maxWaitMs?: number
}

export interface SearchOptions {
  /** Maximum number of results; `Infinity` for all. @default 10 */
  readonly limit?: number
}

/** Identifies a revision whose files can be read. Every `Skill` implements it. */
export type ReadableRevision = Pick<Skill, 'name' | 'revision' | 'files'>

const DEFAULT_SEARCH_LIMIT = 10
const KNOWN_VIEW: KnownOptions<ConversationView> = { id: true, scope: true, pinned: true }
const KNOWN_FRESH: KnownOptions<FreshOptions> = { maxWaitMs: number(0) }
const KNOWN_SEARCH: KnownOptions<SearchOptions> = { limit: number(0) }

/**
 * Lists and reads skills, and explains why a skill does not reach a conversation. Tools, sessions, scripts, MCP servers
 * and writers accept a reader. `forConversation` returns a reader with a narrower scope, or a reader that also sees the
 * skills that the conversation wrote.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, type SkillReader } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const countOf = (reader: SkillReader) => reader.catalog().listed.length
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * console.log(countOf(skills), countOf(skills.forConversation({ scope: { include: ['billing-*'] } })))
 * // prints 1 0
 * ```
 */
export class SkillReader {
  /** Returns whether the scope of this reader allows skills with this name. */
  readonly isInScope: ScopeTest
  readonly #parts: ReaderParts
  readonly #view: ConversationView

  /** Only `createSkillRuntime` and `forConversation` call this constructor. */
  constructor(parts: ReaderParts, view: ConversationView = {}) {
    this.#parts = parts
    this.#view = view
    this.isInScope = createScopeTest(view.scope)
  }

  /**
   * The newest generation. Read this property once and use the same generation for all related calls, because the
   * property may return a newer generation later.
   */
  get current(): Generation {
    const { id, pinned } = this.#view
    if (pinned !== undefined) return pinned
    const { current } = this.#parts.registry
    return id === undefined ? current : current.forConversation(id)
  }

  /** The scope that was given to `forConversation`. */
  get scope(): SkillScope | undefined {
    return this.#view.scope
  }

  /**
   * Waits until all earlier changes are visible. The call takes microseconds if file events are reliable. During
   * continuous writes the call can take two seconds, because a half-written folder is never published. A folder that
   * changes during every read keeps its last complete revision, and `sources()` of the generation reports
   * FOLDER_UNSTABLE. `refresh()` and `load()` fail for such a skill.
   * @throws {SkillError} CLOSED, INVALID_OPTION; TIMED_OUT when the wait takes longer than `maxWaitMs`
   *
   * @example
   * ```ts
   * import { writeFile } from 'node:fs/promises'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await writeFile('skills/support-pdf/SKILL.md', '---\nname: support-pdf\ndescription: Fills in forms.\n---\nDo it.\n')
   * const generation = await skills.fresh()
   * console.log(generation.get('support-pdf').description) // prints Fills in forms.
   * ```
   */
  async fresh(options?: FreshOptions): Promise<Generation> {
    checkOptions('fresh()', options, KNOWN_FRESH)
    if (this.#view.pinned === undefined) await this.#parts.sources.fresh(options?.maxWaitMs)
    return this.current
  }

  /**
   * Reads all folders of skills with this name again, and looks for a new folder with this name. The call never returns
   * an older state than the one at its start.
   * @throws {SkillError} CLOSED; TIMED_OUT when the folder keeps changing, or could not be read within five seconds
   *
   * @example
   * ```ts
   * import { writeFile } from 'node:fs/promises'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills', { watching: 'off' })] })
   * await writeFile('skills/support-pdf/notes.md', 'Forms have 12 fields.')
   * const generation = await skills.refresh('support-pdf')
   * console.log(generation.get('support-pdf').files.map(file => file.path)) // prints [ 'SKILL.md', 'notes.md' ]
   * ```
   */
  async refresh(name: string): Promise<Generation> {
    if (this.#view.pinned === undefined) await this.#parts.sources.refresh(name)
    return this.current
  }

  /**
   * Reads the folder of a skill again, then returns the skill with its instructions.
   * @throws {SkillError} CLOSED, SKILL_NOT_FOUND, REVISION_NOT_FOUND; TIMED_OUT as `refresh()`
   *
   * @example
   * ```ts
   * import { createSkillRuntime, SkillError } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const { name, body } = await skills.load('support-pdf')
   * console.log(name, body) // prints support-pdf Instructions of support-pdf.
   * const failure = await skills.load('support-doc').catch((error: unknown) => error)
   * console.log(SkillError.isInstance(failure, 'SKILL_NOT_FOUND')) // prints true
   * ```
   */
  async load(name: string): Promise<LoadedSkill> {
    const asked = { generation: await this.refresh(name), name }
    return await useNewest(this, asked, async generation => {
      const skill = generation.get(name)
      if (!this.isInScope(skill.name)) throw createNotFound(name, generation, this.isInScope)
      return Object.freeze({ ...skill, body: await this.readBody(skill) })
    })
  }

  /**
   * Reads the instructions of a skill at its revision, without reading its folder again.
   * @throws {SkillError} REVISION_NOT_FOUND when the store no longer has them
   */
  async readBody(skill: Skill): Promise<string> {
    const { store, registry } = this.#parts
    const file = skill.files.find(({ path }) => path === skill.skillFile)
    // If the origin replaced a revision before all its files were retrieved, this revision must not be used.
    const isReplaced =
      !(await store.complete(skill)) && registry.current.find(skill.name)?.revision !== skill.revision
    const bytes = file === undefined || isReplaced ? undefined : await store.get(file.digest)
    if (bytes === undefined)
      throw new SkillError(
        'REVISION_NOT_FOUND',
        `the instructions of ${quote(skill.name)} at ${skill.revision} are not stored${this.#describeLoss(skill)}`,
      )
    return splitAnyText(decodeAnyText(bytes)).value.body.trim()
  }

  /**
   * Reads one file of a revision. The revision may be older than the served revision.
   * @throws {SkillError} FILE_NOT_FOUND; REVISION_NOT_FOUND when the store no longer has it
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const skill = skills.current.get('support-pdf')
   * const bytes = await skills.readFile(skill, 'SKILL.md')
   * console.log(new TextDecoder().decode(bytes).split('\n')[1]) // prints name: support-pdf
   * ```
   */
  async readFile({ name, revision, files }: ReadableRevision, path: string): Promise<Uint8Array> {
    const file = files.find(each => each.path === path)
    if (file === undefined)
      throw new SkillError('FILE_NOT_FOUND', `${quote(name)} has no file ${quote(path)}`)
    const { store } = this.#parts
    const isThere = store.has(file.digest) || (await store.complete({ revision, files }))
    const bytes = isThere ? await store.get(file.digest) : undefined
    if (bytes === undefined)
      throw new SkillError(
        'REVISION_NOT_FOUND',
        `revision ${revision} is not stored${this.#describeLoss({ name, revision })}; read the newest one`,
      )
    return bytes
  }

  /**
   * Returns whether all files of a skill are stored. False if the source retrieves files on demand and the skill was not
   * loaded yet. In this case, `load` and `retrieve` retrieve the files.
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * console.log(skills.isStored(skills.current.get('support-pdf'))) // prints true
   * ```
   */
  isStored({ files }: Pick<Skill, 'files'>): boolean {
    return this.#parts.store.hasAll(files)
  }

  /**
   * Ensures that all files of a skill are stored. Does nothing if they are. Call this method for skills that must stay
   * available without their origin.
   * @throws {SkillError} REVISION_NOT_FOUND when the origin cannot be reached or no longer has the revision
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * for (const skill of skills.current.list()) await skills.retrieve(skill)
   * console.log(skills.current.list().every(skill => skills.isStored(skill))) // prints true
   * ```
   */
  async retrieve({ name, revision, files }: ReadableRevision): Promise<void> {
    if (await this.#parts.store.complete({ revision, files })) return
    throw new SkillError(
      'REVISION_NOT_FOUND',
      `revision ${revision} is not stored${this.#describeLoss({ name, revision })}`,
    )
  }

  /** Returns the end of a message about files that are not stored: why their source could not retrieve them. */
  #describeLoss({ name, revision }: Pick<Skill, 'name' | 'revision'>): string {
    const { registry } = this.#parts
    const skill = registry.listKnown().find(each => each.name === name && each.revision === revision)
    const source = registry.current.sources().find(({ label }) => label === skill?.source)
    const fault =
      skill?.diagnostics.find(({ code }) => code === 'FILE_UNREADABLE') ??
      source?.diagnostics.find(({ code }) => code === 'SOURCE_FAILED')
    return fault === undefined ? '' : `: ${fault.message}`
  }

  /**
   * Returns an earlier revision of a skill, if the conversation of this reader may read it now. Otherwise, and if the
   * revision is not stored, returns `undefined`. `isClaimed` is true if only a stored state says that the conversation
   * saw the revision.
   */
  async findEarlier(skill: Skill, revision: Digest, isClaimed: boolean): Promise<Skill | undefined> {
    const { id: conversation } = this.#view
    return await this.#parts.registry.readAdmitted(skill, revision, { conversation, isClaimed })
  }

  /** Returns the file list of a revision; `undefined` if the store does not have the revision. */
  async listFiles(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    return await this.#parts.store.getTree(revision)
  }

  /**
   * Searches names and descriptions. Returns the matching skills, best match first. @throws {SkillError} INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' }, [
   *   { name: 'maps', description: 'Finds routes between towns.' },
   *   { name: 'mail', description: 'Writes letters.' },
   * ])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * console.log(skills.search('routes').map(({ skill }) => skill.name)) // prints [ 'maps' ]
   * ```
   */
  search(query: string, options: SearchOptions = {}): readonly SearchHit[] {
    checkOptions('search()', options, KNOWN_SEARCH)
    const { limit = DEFAULT_SEARCH_LIMIT } = options
    return this.#parts.index.search(this.current.list(), query, { limit, isInScope: this.isInScope })
  }

  /**
   * Renders names and descriptions for a prompt. Returns the same catalog object until the text of the catalog changes.
   * @param format @default the format of the runtime; the budget is always that of the runtime
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({
   *   sources: [directory('./skills')],
   *   catalog: { format: 'markdown', maxTokens: 2_000 },
   * })
   * const { listed, omitted, tokens } = skills.catalog()
   * console.log(listed, omitted, tokens < 2_000) // prints [ 'support-pdf' ] [] true
   * ```
   */
  catalog(format?: CatalogFormatName): SkillCatalog {
    return this.#parts.catalogs.render(this.current, this.#view.scope, format)
  }

  /** Returns the callable commands of a skill. */
  commandsOf(skill: Skill): CommandOffer {
    return this.#parts.commands?.offer(skill) ?? NO_COMMANDS
  }

  /**
   * Returns a reader for one conversation, or for one scope.
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const named = (name: string) => ({ name, description: 'Use on request.' })
   * const source = new MemorySource({ label: 'mine' }, [named('support-mail'), named('billing')])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * const reader = skills.forConversation({ scope: { include: ['support-*'] } })
   * console.log(reader.catalog().listed, reader.isInScope('billing')) // prints [ 'support-mail' ] false
   * ```
   */
  forConversation(view: ConversationView): SkillReader {
    checkOptions('forConversation()', view, KNOWN_VIEW)
    checkConversationIdentity('id', view.id)
    return new SkillReader(this.#parts, view)
  }

  /**
   * Explains which steps a skill has passed on its way into a conversation. The steps have the names `found`, `parsed`,
   * `eligible`, `commands`, `scoped`, `listed`, `announced` and `loaded`. `asked` is a name, the name of a folder, or a
   * path. The explanation uses the newest generation.
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const session = skills.session({ id: 'chat-1', scope: { exclude: ['support-*'] } })
   * const { steps } = skills.explain('support-pdf', session)
   * console.log(steps.find(({ ok }) => !ok)?.step) // prints scoped
   * ```
   */
  explain(asked: string, conversation?: ToldConversation): SkillExplanation {
    return explain(asked, this.#explained(conversation))
  }

  /**
   * If a skill matches, returns the same explanation as `explain`. If no skill matches, searches the sources for the
   * reason.
   *
   * @example
   * ```ts
   * import { writeFile } from 'node:fs/promises'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await writeFile('skills/notes.md', 'This file is not a skill.')
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const { steps, notSkills } = await skills.why('notes')
   * console.log(steps[0]?.ok, notSkills?.length) // prints false 1
   * ```
   */
  async why(asked: string, conversation?: ToldConversation): Promise<SkillExplanation> {
    return await explainFromSources(asked, this.#explained(conversation))
  }

  #explained(conversation: ToldConversation | undefined): Explained {
    const scope = conversation === undefined ? this.scope : conversation.scope
    const { current: generation } = this
    const { catalogs, sources, commands } = this.#parts
    return {
      generation,
      sources,
      commands,
      // A getter, because rendering thousands of skills is slow and most explanations do not need the catalog.
      get catalog() {
        return conversation?.catalogDetails ?? catalogs.render(generation, scope)
      },
      scope,
      conversation,
    }
  }
}

function createNotFound(name: string, generation: Generation, isInScope: ScopeTest): SkillError {
  const available = generation.list().flatMap(skill => (isInScope(skill.name) ? skill.name : []))
  return createSkillNotFound(name, available, generation.sources())
}
