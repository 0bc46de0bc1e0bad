/// <reference lib="esnext.disposable" preserve="true" />

import type { Conversation } from '../activation/conversation.ts'
import type { Ledger } from '../activation/ledger.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import { expandSlash, KNOWN_SLASH, type SlashExpansion, type SlashOptions } from '../activation/slash.ts'
import { listInScope } from '../catalog/catalog-cache.ts'
import type { SkillCatalog } from '../catalog/render-catalog.ts'
import { intersectScopes, type SkillScope } from '../catalog/scope.ts'
import { SkillError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import type { ConversationView, SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'
import { withCheck } from '../tool/define-tool.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import { TOOL_NAMES } from '../tool/tool-names.ts'
import { describeUnknownTool } from '../tool/unknown-tool.ts'
import { ActiveSkills } from './active-skills.ts'
import { checkRebaseOptions, chooseRestored, type RebaseOptions, type SessionRebase } from './rebase.ts'
import type { SessionHost } from './session-host.ts'
import { KNOWN_OFFER, type OfferOptions, type SessionOffer, type SessionUpdate } from './session-offer.ts'
import {
  checkSessionOptions,
  type DeliveryMode,
  type InheritedOptions,
  type SessionOptions,
} from './session-options.ts'
import { checkSessionState, type SessionState } from './session-state.ts'
import { type Proposal, TellingRecord } from './telling-record.ts'

/**
 * What one conversation was told. The catalog and the tools never change under it; changes reach it as messages that
 * are appended, so no byte that was already sent to the model is ever altered.
 */
export class SkillSession implements Disposable {
  readonly id: string
  /** The session that this one works for. */
  readonly parent: SkillSession | undefined
  /**
   * The conversation in whose name skills are written: the id of this session, or that of the session at the top of its
   * parents. Pass it to `createAuthorTools` as `author.conversation`.
   */
  readonly conversation: string
  readonly scope: SkillScope | undefined
  /** Constant tool definitions, the same for every conversation. */
  readonly tools: readonly ToolDefinition[]
  /** What the conversation has loaded. */
  readonly ledger: Ledger
  readonly delivery: DeliveryMode
  readonly #host: SessionHost
  readonly #retained: RetainedRevisions
  readonly #inherited: InheritedOptions
  readonly #view: ConversationView
  readonly #access: Conversation
  /** Reads what was not pinned: the newest generation, with what the conversation itself has written. */
  readonly #reader: SkillReader
  readonly #skillToolName: string
  readonly #active = new ActiveSkills()
  readonly #record: TellingRecord
  #turn = 0
  #toldTurn = -1
  #isClosed = false

  /** Made by `SkillRuntime.session` and `child`. */
  constructor(
    host: SessionHost,
    options: SessionOptions,
    retained: RetainedRevisions,
    parent?: SkillSession,
  ) {
    const { id, scope, resume, ...inherited } = options
    const { delivery = 'append', allowedTools = 'advise', skillToolName = TOOL_NAMES.loadSkill } = inherited
    this.id = id
    this.parent = parent
    this.conversation = parent?.conversation ?? id
    this.scope = scope
    this.delivery = delivery
    this.#skillToolName = skillToolName
    this.#host = host
    this.#retained = retained
    this.#inherited = inherited
    this.#view = { id: this.conversation, ...(scope === undefined ? {} : { scope }) }
    this.#reader = host.reader.forConversation(this.#view)
    const now = this.#newest()
    this.#record = new TellingRecord({
      ...{ delivery, generation: now, hasher: host.hasher, countTokens: host.countTokens },
      isInScope: this.#reader.isInScope,
      renderCatalog: generation => this.#renderCatalog(generation),
      retained,
    })
    this.ledger = this.#record.ledger
    if (resume !== undefined) this.#record.resume(checkSessionState(resume, host.hasher))
    this.#access = {
      reader: delivery === 'pinned' ? host.reader.forConversation(this.#pinnedView()) : this.#reader,
      ledger: this.ledger,
      activate: (skill, name) => {
        this.#record.load(skill, name)
        this.#active.add(skill, name)
      },
      allowedTools,
      ...(options.describeUnknownSkill && { describeUnknownSkill: options.describeUnknownSkill }),
    }
    // Asked at each call: a model acts on what it saw before.
    const check = (name: string, input: unknown): string | undefined => this.checkTool(name, input)
    const scriptTools = host.scriptTools(this.#access).map(tool => withCheck(tool, check))
    this.tools = createSkillTools(this.#access, skillToolName, scriptTools)
    this.#pin()
  }

  /**
   * Text for the system prompt, empty when there was no skill. It stays the same byte for byte until `rebase`, also through
   * a resume; with `rebuild` it is today's after each `update`, or `commit` of an offer.
   */
  get catalog(): string {
    return this.#record.catalog.text
  }

  /** The catalog with its cost and what did not fit. */
  get catalogDetails(): SkillCatalog {
    return this.#record.catalog
  }

  /** The newest generation of which the conversation was told. */
  get generation(): Generation {
    return this.#record.generation
  }

  /** The skills whose instructions entered the conversation since the turn began, in the order of loading. */
  get active(): readonly Skill[] {
    return this.#active.list()
  }

  /** Whether the session was closed, or taken over by another one that resumed its conversation. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** A user is about to be answered: the skills of the turn before are no longer active. */
  beginTurn(): void {
    this.#active.clear()
    this.#turn++
  }

  /**
   * Offers what the conversation was not told yet, as one message to append. Call it before every model call, and
   * `offer.commit()` once the message is in the history that you keep: a call that fails and a turn that is dropped then
   * lose nothing. Returns `undefined` when there is nothing to say; what came and went in between says nothing.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async offer(options?: OfferOptions): Promise<SessionOffer | undefined> {
    checkOptions('offer()', options, KNOWN_OFFER)
    const proposal = await this.#propose(options?.fresh)
    return proposal === undefined ? undefined : this.#toOffer(proposal)
  }

  /**
   * Returns what `offer` returns, already committed: for a host that appends the message at once and never drops it.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async update(options?: OfferOptions): Promise<SessionUpdate | undefined> {
    checkOptions('update()', options, KNOWN_OFFER)
    const proposal = await this.#propose(options?.fresh, true)
    return proposal?.update
  }

  /**
   * Returns what `offer` returns, at once and without a look at the disk or the store; `undefined` when the session is
   * closed.
   */
  pending(): SessionOffer | undefined {
    if (this.#isClosed || this.#isToldForTurn()) return undefined
    const proposal = this.#record.propose(this.#target(), this.#turn)
    return proposal === undefined ? undefined : this.#toOffer(proposal)
  }

  /** Tells whether the conversation was told of a skill. */
  knows(name: string): boolean {
    return this.#record.knows(name)
  }

  /**
   * Puts the instructions of a skill into a message that begins with `/` and its name, before the model sees it; other
   * messages come back as they are. @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async expandSlash(message: string, options: SlashOptions = {}): Promise<SlashExpansion> {
    checkOptions('expandSlash()', options, KNOWN_SLASH)
    return await expandSlash(message, this.#access, options)
  }

  /**
   * Returns why a tool may not be called now, as an answer to the model; `undefined` when it may. Tools are refused only with
   * `allowedTools: 'enforce'`, while skills are active that name the tools they are written for. What is active in a parent
   * restricts its children. Ask inside the tool, because models call what they saw a moment ago.
   */
  checkTool(name: string, input: unknown): string | undefined {
    // Reading is not acting; and what an active skill brings along it may use.
    const isHarmless = name === this.#skillToolName || name === TOOL_NAMES.readFile
    if (isHarmless || this.#active.isOwnScript(name, input)) return undefined
    const isEnforced = this.#access.allowedTools === 'enforce'
    const refusal = isEnforced ? this.#active.describeRefusal(name, input) : undefined
    return refusal ?? this.parent?.checkTool(name, input)
  }

  /** What to tell a model that called a tool which does not exist; `tools` are the names of those that do. */
  describeUnknownTool(name: string, tools: readonly string[]): string {
    return describeUnknownTool(name, tools, this.#access.reader, this.#skillToolName)
  }

  /** Returns what has to be stored with the conversation so that it can continue later, in another process. */
  state(): SessionState {
    return this.#record.state()
  }

  /**
   * Goes back to an earlier state of this conversation, for a host that takes messages out of its history: a turn that failed,
   * or an answer that is asked for again. What was loaded or told since counts as never said, open offers are void, and no
   * skill is active. `tools` stay as they are.
   * @throws {SkillError} CLOSED; INVALID_OPTION when the state is damaged
   */
  revert(state: SessionState): void {
    this.#assertOpen()
    this.#record.revert(checkSessionState(state, this.#host.hasher))
    this.#active.clear()
    this.#toldTurn = -1
  }

  /**
   * Opens a session that works for this one, for example for a subagent. It sees what both scopes let through and what this
   * conversation has written, has a ledger of its own, and takes over the other options unless they are given. It is closed
   * with this session at the latest.
   * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the id
   */
  child(options: SessionOptions): SkillSession {
    this.#assertOpen()
    checkSessionOptions(options, 'child()')
    const scope = intersectScopes(this.scope, options.scope)
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
    const all = { ...this.#inherited, ...given, id: options.id, ...(scope === undefined ? {} : { scope }) }
    return this.#host.openChild(all, this)
  }

  /**
   * Starts the conversation over on the newest generation: a new catalog, and the loaded skills as they are now. Offers that
   * were made before are void.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async rebase(options: RebaseOptions = {}): Promise<SessionRebase> {
    this.#assertOpen()
    checkRebaseOptions(options)
    await this.#reader.fresh()
    const now = this.#newest()
    const find = (name: string): Skill | undefined =>
      this.#reader.isInScope(name) ? now.find(name) : undefined
    const parts = { find, conversation: this.#access, countTokens: this.#host.countTokens }
    const { kept, dropped } = await chooseRestored(parts, options)
    this.#record.restart(now, kept, dropped)
    this.#pin()
    return Object.freeze({
      catalog: this.catalog,
      restore: kept.map(({ name, revision, text }) => ({ name, revision, text })),
      dropped,
      generation: now.number,
      digest: now.digest,
    })
  }

  /**
   * Ends the conversation at once instead of when nothing refers to it any more, and its children with it: it is no longer
   * listed, its id is free, and the old revisions that it was given may be collected. `state()` and the commit of an open
   * offer still work. Idempotent.
   */
  close(): void {
    this.#isClosed = true
    this.#retained.release()
    this.#host.ended(this)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #propose(fresh = true, commits = false): Promise<Proposal | undefined> {
    this.#assertOpen()
    if (this.#isToldForTurn()) return undefined
    if (fresh && this.delivery !== 'pinned') await this.#reader.fresh()
    await this.#record.learn(this.#target(), this.#reader)
    this.#assertOpen()
    // From here on nothing waits, so that two calls at the same time never say the same.
    const now = this.#target()
    const proposal = this.#record.propose(now, this.#turn)
    if (proposal === undefined) {
      this.#record.moveTo(now)
      this.#toldTurn = this.#turn
    } else if (commits) this.#commit(proposal)
    return proposal
  }

  #isToldForTurn(): boolean {
    return this.#inherited.applyAt === 'turn' && this.#toldTurn === this.#turn
  }

  #toOffer(proposal: Proposal): SessionOffer {
    return Object.freeze({
      ...proposal.update,
      ...(this.delivery === 'rebuild' ? { catalog: proposal.catalog.text } : {}),
      commit: () => this.#commit(proposal),
      state: () => this.#record.state(proposal),
    })
  }

  #commit(proposal: Proposal): void {
    if (this.#record.commit(proposal)) this.#toldTurn = Math.max(this.#toldTurn, proposal.turn)
  }

  #renderCatalog(generation: Generation): SkillCatalog {
    return this.#host.reader.forConversation({ ...this.#view, pinned: generation }).catalog()
  }

  /** A view that stays with the generation of which the conversation was told, through each rebase. */
  #pinnedView(): ConversationView {
    const told = (): Generation => this.#record.generation
    return {
      ...this.#view,
      get pinned() {
        return told()
      },
    }
  }

  /** With what the conversation itself has written; what works for a pinned conversation sees no more than that one. */
  #newest(): Generation {
    const isPinnedTwice = this.delivery === 'pinned' && this.parent?.delivery === 'pinned'
    return isPinnedTwice ? this.parent.generation : this.#reader.current
  }

  /** The generation that the conversation is to know. */
  #target(): Generation {
    return this.delivery === 'pinned' ? this.#record.generation : this.#newest()
  }

  /** A pinned conversation may load any skill of its generation, however old that gets. */
  #pin(): void {
    if (this.delivery !== 'pinned' || this.#isClosed) return
    for (const skill of listInScope(this.generation.list(), this.#reader.isInScope))
      this.#retained.add(skill.revision)
  }

  #assertOpen(): void {
    if (!this.#isClosed) return
    const shown = JSON.stringify(this.id)
    throw new SkillError('CLOSED', `the session ${shown} is closed; ask the runtime for a new one`)
  }
}
