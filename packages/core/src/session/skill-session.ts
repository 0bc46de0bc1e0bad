import { type Ledger, type LedgerEntry, MemoryLedger } from '../activation/ledger.ts'
import { readBody } from '../activation/load-skill.ts'
import type { SkillAccess } from '../activation/skill-access.ts'
import type { Catalog, TokenCounter } from '../catalog/render-catalog.ts'
import { createScopeTest, type Scope, type ScopeTest } from '../catalog/scope.ts'
import type { SearchHit } from '../catalog/skill-search.ts'
import { SkillError } from '../errors.ts'
import type { Generation } from '../registry/generation.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { renderLoadedSkill } from '../tool/skill-tool.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import { diffListings } from './listing-diff.ts'
import { type LoadedChange, renderUpdate } from './render-update.ts'

/** What a session needs of the runtime it belongs to. */
export interface SessionHost {
  current(): Generation
  /** Resolves when what was on disk before the call is visible. */
  fresh(): Promise<void>
  refresh(name: string): Promise<void>
  renderCatalog(generation: Generation, scope: Scope | undefined): Catalog
  search(generation: Generation, query: string, limit: number, isInScope: ScopeTest): readonly SearchHit[]
  /** Keeps a revision readable for as long as the session is in use. */
  retain(session: SkillSession, revision: Digest): void
  /** The conversation is over: what was kept for it may go. */
  ended(session: SkillSession): void
  readonly store: SkillStore
  readonly countTokens: TokenCounter
}

export interface SessionOptions {
  /** Names the conversation in events and reports. */
  readonly id: string
  /** Which skills this conversation may see. @default all */
  readonly scope?: Scope
}

/** The one message that keeps a conversation up to date; append it and leave it there. */
export interface SessionUpdate {
  readonly text: string
  readonly tokens: number
  /** Number and digest of the generation that the conversation knows from now on. */
  readonly generation: number
  readonly digest: Digest
}

/** What a conversation starts over with after compaction, or when it is resumed. */
export interface SessionRebase {
  /** The catalog for the new system prompt. */
  readonly catalog: string
  /** Texts of loaded skills at their newest revision, to be put back into the context. */
  readonly restore: readonly { readonly name: string; readonly revision: Digest; readonly text: string }[]
  /** Loaded skills that are gone or did not fit; the conversation no longer has them. */
  readonly dropped: readonly string[]
  readonly generation: number
  readonly digest: Digest
}

export interface UpdateOptions {
  /** Whether what is on disk by now is waited for, instead of telling of the newest generation as it is. @default true */
  readonly fresh?: boolean
}

export interface RebaseOptions {
  /** Tokens that restored skills may take together. @default 8,000 */
  readonly maxTokens?: number
}

export const DEFAULT_RESTORE_TOKENS = 8_000

/**
 * What one conversation was told. The catalog and the tools never change under it; changes reach it as messages that
 * are appended, so no byte that was already sent to the model is ever altered.
 */
export class SkillSession implements Disposable {
  readonly id: string
  readonly scope: Scope | undefined
  /** Constant tool definitions, the same for every conversation. */
  readonly tools: readonly ToolDefinition[]
  /** What the conversation has loaded. */
  readonly ledger: Ledger
  readonly #host: SessionHost
  readonly #isInScope: ScopeTest
  #catalog: Catalog
  #told: Generation

  /** Made by `SkillRuntime.session`. */
  constructor(host: SessionHost, options: SessionOptions) {
    this.ledger = new MemoryLedger(revision => host.retain(this, revision))
    this.id = options.id
    this.scope = options.scope
    this.#host = host
    this.#isInScope = createScopeTest(options.scope)
    this.#told = host.current()
    this.#catalog = host.renderCatalog(this.#told, options.scope)
    this.tools = createSkillTools(createSkillAccess(host, this.#isInScope, this.ledger))
  }

  /** Text for the system prompt, frozen until `rebase`; empty when there was no skill. */
  get catalog(): string {
    return this.#catalog.text
  }

  /** The catalog with its cost and what did not fit. */
  get catalogDetails(): Catalog {
    return this.#catalog
  }

  /** The generation of which the conversation was told last. */
  get generation(): Generation {
    return this.#told
  }

  /**
   * To be called before every model call. Returns nothing, or one message with the net difference since the
   * conversation was last told. What came and went in between says nothing.
   */
  async update(options: UpdateOptions = {}): Promise<SessionUpdate | undefined> {
    if (options.fresh !== false) await this.#host.fresh()
    const now = this.#host.current()
    if (now === this.#told) return undefined
    const update = this.#describe(now)
    for (const { entry, skill } of this.#findLoadedChanges(now))
      this.ledger.record({ ...entry, toldRevision: skill.revision })
    this.#noteReturned(now)
    this.#noteRemoved(now)
    this.#told = now
    return update
  }

  /** What `update` would return if it were called now; the conversation counts as not told. */
  pending(): SessionUpdate | undefined {
    return this.#describe(this.#host.current())
  }

  #describe(now: Generation): SessionUpdate | undefined {
    const diff = diffListings(this.#told.list(), now.list(), this.#isInScope)
    const loaded = this.#findLoadedChanges(now)
    if (diff.added.length + diff.removed.length + diff.redescribed.length + loaded.length === 0)
      return undefined
    const text = renderUpdate(diff, loaded, now.digest)
    return Object.freeze({
      text,
      tokens: this.#host.countTokens(text),
      generation: now.number,
      digest: now.digest,
    })
  }

  /** Starts the conversation over on the newest generation: a new catalog, and the loaded skills as they are now. */
  async rebase(options: RebaseOptions = {}): Promise<SessionRebase> {
    await this.#host.fresh()
    const now = this.#host.current()
    let room = options.maxTokens ?? DEFAULT_RESTORE_TOKENS
    const restore: { name: string; revision: Digest; text: string }[] = []
    const dropped: string[] = []
    // The newest loads matter most to what comes next.
    for (const { name } of this.ledger.entries().toReversed()) {
      const skill = this.#isInScope(name) ? now.find(name) : undefined
      const text = skill === undefined ? undefined : await this.#renderStored(skill)
      const tokens = text === undefined ? 0 : this.#host.countTokens(text)
      if (skill === undefined || text === undefined || tokens > room) {
        dropped.push(name)
        this.ledger.forget(name)
        continue
      }
      room -= tokens
      restore.push({ name, revision: skill.revision, text })
      this.ledger.record({ name, revision: skill.revision, toldRevision: skill.revision })
    }
    this.#told = now
    this.#catalog = this.#host.renderCatalog(now, this.scope)
    return Object.freeze({
      catalog: this.catalog,
      restore: restore.reverse(),
      dropped,
      generation: now.number,
      digest: now.digest,
    })
  }

  /**
   * Ends the conversation at once instead of when nobody holds it any more: it is no longer listed, and the old
   * revisions that it was given may be collected. Idempotent.
   */
  close(): void {
    this.#host.ended(this)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** `undefined` when the store has lost the instructions: the conversation then goes on without them. */
  async #renderStored(skill: Skill): Promise<string | undefined> {
    try {
      return renderLoadedSkill(skill, await readBody(skill, this.#host.store))
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return undefined
      throw thrown
    }
  }

  #findLoadedChanges(now: Generation): LoadedChange[] {
    const changes: LoadedChange[] = []
    for (const entry of this.ledger.entries()) {
      const skill = now.find(entry.name)
      if (skill === undefined || skill.revision === entry.toldRevision || isBackAsLoaded(entry, skill))
        continue
      changes.push({ entry, skill })
    }
    return changes
  }

  #noteReturned(now: Generation): void {
    for (const entry of this.ledger.entries()) {
      const skill = now.find(entry.name)
      if (skill !== undefined && isBackAsLoaded(entry, skill))
        this.ledger.record({ ...entry, toldRevision: skill.revision })
    }
  }

  /** A removed skill was told as removed; should it come back, even unchanged, the conversation hears of it. */
  #noteRemoved(now: Generation): void {
    for (const entry of this.ledger.entries()) {
      if (now.find(entry.name) === undefined) this.ledger.record({ ...entry, toldRevision: undefined })
    }
  }
}

/** Told as removed and back as it was loaded: that it is there again is all there is to tell. */
function isBackAsLoaded(entry: LedgerEntry, skill: Skill): boolean {
  return entry.toldRevision === undefined && skill.revision === entry.revision
}

/** What the tools of one reader need, for a conversation or without one. */
export function createSkillAccess(host: SessionHost, isInScope: ScopeTest, ledger: Ledger): SkillAccess {
  return {
    current: () => host.current(),
    refresh: name => host.refresh(name),
    search: (query, limit) => host.search(host.current(), query, limit, isInScope),
    isInScope,
    store: host.store,
    ledger,
  }
}
