import {
  ALLOWED_TOOLS_POLICIES,
  type AllowedToolsPolicy,
  isToolAllowed,
} from '../activation/allowed-tools.ts'
import type { Conversation } from '../activation/conversation.ts'
import { type Ledger, type LedgerEntry, MemoryLedger } from '../activation/ledger.ts'
import { expandSlash, type SlashExpansion, type SlashOptions } from '../activation/slash.ts'
import { listInScope } from '../catalog/catalog-cache.ts'
import type { SkillCatalog, TokenCounter } from '../catalog/render-catalog.ts'
import type { ScopeTest, SkillScope } from '../catalog/scope.ts'
import { checkChoice, SkillError } from '../errors.ts'
import type { Hasher } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { ConversationView, SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { withCheck } from '../tool/define-tool.ts'
import { renderLoadedSkill } from '../tool/skill-tool.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import { describeUnknownTool } from '../tool/unknown-tool.ts'
import { diffAnnounced, diffListings, type ListingDiff } from './listing-diff.ts'
import { type LoadedChange, renderUpdate } from './render-update.ts'
import { checkSessionState, descriptionKey, type SessionState } from './session-state.ts'

/** What a session needs of the runtime it belongs to. */
export interface SessionHost {
  readonly reader: SkillReader
  /** Keeps a revision readable for as long as the session is in use. */
  retain(session: SkillSession, revision: Digest): void
  /** The conversation is over: what was kept for it may go. */
  ended(session: SkillSession): void
  /** The tools that run scripts for a conversation; none where scripts are not run. */
  scriptTools(conversation: Conversation): readonly ToolDefinition[]
  readonly hasher: Hasher
  readonly countTokens: TokenCounter
}

/** The values of `DeliveryMode`. */
export const DELIVERY_MODES = ['append', 'rebuild', 'silent', 'pinned'] as const

/**
 * How changes reach a conversation. `append`: as messages at its end, so that nothing sent before is altered. `rebuild`:
 * by a new catalog at every update, for a system text that is written anew. `silent`: not at all; tools answer from the
 * newest generation all the same. `pinned`: the conversation stays with the generation that it began with, tools included.
 */
export type DeliveryMode = (typeof DELIVERY_MODES)[number]

/** The values of `ApplyAt`. */
export const APPLY_AT = ['step', 'turn'] as const

/** Whether a conversation is told of changes before each model call, or before the first one of a turn. */
export type ApplyAt = (typeof APPLY_AT)[number]

export interface SessionOptions {
  /** Names the conversation in events and reports. */
  readonly id: string
  /** Which skills this conversation may see. @default all */
  readonly scope?: SkillScope
  /** How changes reach the conversation. @default 'append' */
  readonly delivery?: DeliveryMode
  /** Whether changes are told before every model call, or only before the first one after `beginTurn`. @default 'step' */
  readonly applyAt?: ApplyAt
  /** What `allowed-tools` of the skills that it loads does. @default 'advise' */
  readonly allowedTools?: AllowedToolsPolicy
  /** Name of the tool that loads skills. @default 'skill' */
  readonly skillToolName?: string
  /** Writes what that tool answers to a name that no skill has. @default near names, or what a search finds */
  readonly describeUnknownSkill?: (name: string, skills: readonly Skill[]) => string
  /** What `state` gave when the conversation was stored: it goes on from there, with today's catalog. */
  readonly resume?: SessionState
}

const KNOWN_OPTIONS: KnownOptions<SessionOptions> = {
  id: true,
  scope: true,
  delivery: true,
  applyAt: true,
  allowedTools: true,
  skillToolName: true,
  describeUnknownSkill: true,
  resume: true,
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
  readonly scope: SkillScope | undefined
  /** Constant tool definitions, the same for every conversation. */
  readonly tools: readonly ToolDefinition[]
  /** What the conversation has loaded. */
  readonly ledger: Ledger
  readonly delivery: DeliveryMode
  readonly #host: SessionHost
  readonly #access: Conversation
  /** Reads what was not pinned: the newest generation, with what the conversation itself has written. */
  readonly #reader: SkillReader
  readonly #isInScope: ScopeTest
  readonly #applyAt: ApplyAt
  readonly #skillToolName: string
  /** Skills that were loaded since the turn began. */
  readonly #active = new Map<string, Skill>()
  /** What a resumed conversation had been told, until it hears of the difference. */
  #announced: SessionState['announced'] | undefined
  #isTurnTold = false
  #catalog: SkillCatalog
  #told: Generation

  /** Made by `SkillRuntime.session`. */
  constructor(host: SessionHost, options: SessionOptions) {
    checkSessionOptions(options)
    this.id = options.id
    this.scope = options.scope
    this.delivery = options.delivery ?? 'append'
    this.#skillToolName = options.skillToolName ?? 'skill'
    this.#applyAt = options.applyAt ?? 'step'
    this.#host = host
    const view = { id: options.id, ...(options.scope === undefined ? {} : { scope: options.scope }) }
    this.#reader = host.reader.forConversation(view)
    this.#isInScope = this.#reader.isInScope
    this.#told = this.#reader.current
    this.#catalog = this.#reader.catalog()
    this.ledger = new MemoryLedger(revision => host.retain(this, revision))
    if (options.resume !== undefined) this.#resume(checkSessionState(options.resume))
    this.#access = {
      reader: this.delivery === 'pinned' ? host.reader.forConversation(this.#pinned(view)) : this.#reader,
      ledger: this.ledger,
      activate: (skill, name) => {
        recordLoad(this.ledger, skill, name)
        this.#active.set(name, skill)
      },
      allowedTools: options.allowedTools ?? 'advise',
      ...(options.describeUnknownSkill && { describeUnknownSkill: options.describeUnknownSkill }),
    }
    // Asked at each call: a model acts on what it saw before.
    const check = (name: string, input: unknown): string | undefined => this.checkTool(name, input)
    const scriptTools = host.scriptTools(this.#access).map(tool => withCheck(tool, check))
    this.tools = createSkillTools(this.#access, this.#skillToolName, scriptTools)
    this.#pin()
  }

  /** Text for the system prompt, frozen until `rebase` (with `rebuild`: until `update`); empty when there was no skill. */
  get catalog(): string {
    return this.#catalog.text
  }

  /** The catalog with its cost and what did not fit. */
  get catalogDetails(): SkillCatalog {
    return this.#catalog
  }

  /** The generation of which the conversation was told last. */
  get generation(): Generation {
    return this.#told
  }

  /** The skills whose instructions entered the conversation since the turn began, in the order of loading. */
  get active(): readonly Skill[] {
    return [...this.#active.values()]
  }

  /** A user is about to be answered: the skills of the turn before are no longer active. */
  beginTurn(): void {
    this.#active.clear()
    this.#isTurnTold = false
  }

  /**
   * To be called before every model call. Returns nothing, or one message with the net difference since the
   * conversation was last told. What came and went in between says nothing.
   */
  async update(options: UpdateOptions = {}): Promise<SessionUpdate | undefined> {
    if (this.delivery === 'pinned' || (this.#applyAt === 'turn' && this.#isTurnTold)) return undefined
    if (options.fresh !== false) await this.#reader.fresh()
    this.#isTurnTold = true
    const now = this.#newest()
    if (now === this.#told && this.#announced === undefined) return undefined
    const update = this.#describe(now)
    for (const { entry, skill } of this.#findLoadedChanges(now))
      this.ledger.record({ ...entry, toldRevision: skill.revision })
    this.#noteReturned(now)
    this.#noteRemoved(now)
    this.#told = now
    this.#announced = undefined
    if (this.delivery === 'rebuild') this.#catalog = this.#reader.catalog()
    return update
  }

  /** What `update` would return if it were called now; the conversation counts as not told. */
  pending(): SessionUpdate | undefined {
    return this.delivery === 'pinned' ? undefined : this.#describe(this.#newest())
  }

  /**
   * Puts the instructions of a skill into a message that begins with `/` and its name, before the model sees it; other
   * messages come back as they are.
   */
  async expandSlash(message: string, options: SlashOptions = {}): Promise<SlashExpansion> {
    return await expandSlash(message, this.#access, options)
  }

  /**
   * Why a tool may not be called now, as an answer to the model; `undefined` when it may. Tools are refused only with
   * `allowedTools: 'enforce'`, while skills are active that name the tools they are written for. To be asked inside the
   * tool, because models call what they saw a moment ago.
   */
  checkTool(name: string, input: unknown): string | undefined {
    if (this.#access.allowedTools !== 'enforce') return undefined
    // Reading is not acting; and what an active skill brings along it may use.
    if (name === this.#skillToolName || name === 'read_skill_file' || this.#isOwnScript(name, input))
      return undefined
    // Each active skill has its say: a model that could lift a restriction by loading another skill would have none.
    const refusing = this.active.find(
      ({ allowedTools }) => allowedTools !== undefined && !isToolAllowed(allowedTools, name, input),
    )
    if (refusing === undefined) return undefined
    const allowed = refusing.allowedTools?.join(', ') || 'none'
    return `the tool ${JSON.stringify(name)} may not be called in this way while ${JSON.stringify(refusing.name)} is active; allowed: ${allowed}`
  }

  #isOwnScript(name: string, input: unknown): boolean {
    const { skill } = (input ?? {}) as { readonly skill?: unknown }
    return SCRIPT_TOOLS.includes(name) && typeof skill === 'string' && this.#active.has(skill)
  }

  /** What to tell a model that called a tool which does not exist; `tools` are the names of those that do. */
  describeUnknownTool(name: string, tools: readonly string[]): string {
    return describeUnknownTool(name, tools, this.#access.reader, this.#skillToolName)
  }

  /** What has to be stored with the conversation so that it can go on later, in another process. */
  state(): SessionState {
    const listed = listInScope(this.#told.list(), this.#isInScope)
    return {
      version: 1,
      generation: this.#told.digest,
      announced:
        this.#announced ??
        listed.map(skill => [skill.name, descriptionKey(skill, this.#host.hasher)] as const),
      ledger: this.ledger.entries(),
      seen: this.ledger.allSeen(),
    }
  }

  #describe(now: Generation): SessionUpdate | undefined {
    const loaded = this.#findLoadedChanges(now)
    const diff = this.#diff(now)
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

  /** What has to be said of the listing: all of it, or nothing when the new catalog says it or nobody wants to hear it. */
  #diff(now: Generation): ListingDiff {
    if (this.delivery !== 'append') return { added: [], removed: [], redescribed: [] }
    if (this.#announced === undefined) return diffListings(this.#told.list(), now.list(), this.#isInScope)
    return diffAnnounced(this.#announced, now.list(), this.#isInScope, skill =>
      descriptionKey(skill, this.#host.hasher),
    )
  }

  /** Starts the conversation over on the newest generation: a new catalog, and the loaded skills as they are now. */
  async rebase(options: RebaseOptions = {}): Promise<SessionRebase> {
    await this.#reader.fresh()
    const now = this.#newest()
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
    this.#announced = undefined
    this.#catalog = this.#reader.catalog()
    this.#pin()
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
      return renderLoadedSkill(skill, await this.#reader.readBody(skill), this.#access)
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return undefined
      throw thrown
    }
  }

  /** A view that stays with the generation of which the conversation was told, through each rebase. */
  #pinned(view: ConversationView): ConversationView {
    const told = (): Generation => this.#told
    return {
      ...view,
      get pinned() {
        return told()
      },
    }
  }

  /** With what the conversation itself has written. */
  #newest(): Generation {
    return this.#reader.current
  }

  /** A pinned conversation may load any skill of its generation, however old that gets. */
  #pin(): void {
    if (this.delivery !== 'pinned') return
    for (const skill of listInScope(this.#told.list(), this.#isInScope))
      this.#host.retain(this, skill.revision)
  }

  #resume(state: SessionState): void {
    // A scope that has become narrower takes back what was loaded under the old one.
    for (const [name, revisions] of Object.entries(state.seen).filter(([name]) => this.#isInScope(name)))
      for (const revision of revisions) this.ledger.saw(name, revision)
    for (const entry of state.ledger) if (this.#isInScope(entry.name)) this.ledger.record(entry)
    this.#announced = state.announced
  }

  #findLoadedChanges(now: Generation): LoadedChange[] {
    if (this.delivery === 'silent') return []
    const changes: LoadedChange[] = []
    for (const entry of this.ledger.entries()) {
      const skill = this.#isInScope(entry.name) ? now.find(entry.name) : undefined
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

const SCRIPT_TOOLS = ['run_skill_command', 'run_skill_script']
const TAKEN_NAMES = ['read_skill_file', ...SCRIPT_TOOLS]

/** @throws {SkillError} INVALID_OPTION: a misspelt restriction must not be none */
function checkSessionOptions(options: SessionOptions): void {
  checkOptions('session()', options, KNOWN_OPTIONS)
  checkChoice('delivery', options.delivery, DELIVERY_MODES)
  checkChoice('applyAt', options.applyAt, APPLY_AT)
  checkChoice('allowedTools', options.allowedTools, ALLOWED_TOOLS_POLICIES)
  const { skillToolName = 'skill' } = options
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(skillToolName) || TAKEN_NAMES.includes(skillToolName)) {
    throw new SkillError(
      'INVALID_OPTION',
      `skillToolName is ${JSON.stringify(skillToolName)}; use a name of its own, of letters, digits, "_" and "-"`,
    )
  }
}

/** Told as removed and back as it was loaded: that it is there again is all there is to tell. */
function isBackAsLoaded(entry: LedgerEntry, skill: Skill): boolean {
  return entry.toldRevision === undefined && skill.revision === entry.revision
}

/** Noted anew, so that the entries stay in the order of loading. */
function recordLoad(ledger: Ledger, skill: Skill, name: string): void {
  ledger.forget(name)
  ledger.record({ name, revision: skill.revision, toldRevision: skill.revision })
}
