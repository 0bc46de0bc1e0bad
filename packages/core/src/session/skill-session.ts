/// <reference lib="esnext.disposable" preserve="true" />

import type { Conversation } from '../activation/conversation.ts'
import { invokeSkill, type SlashExpansion } from '../activation/invoke-skill.ts'
import type { Ledger } from '../activation/ledger.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import { expandSlash, KNOWN_SLASH, type SlashOptions } from '../activation/slash.ts'
import { listInScope } from '../catalog/catalog-cache.ts'
import type { SkillCatalog } from '../catalog/render-catalog.ts'
import { intersectScopes, type SkillScope } from '../catalog/scope.ts'
import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { quote } from '../quote.ts'
import type { ConversationView, SkillReader } from '../reader/skill-reader.ts'
import { createConversationSecret, toConversationIdentity } from '../registry/conversation-identity.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'
import { withCheck } from '../tool/define-tool.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import { withUses } from '../tool/skill-use.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import { TOOL_NAMES } from '../tool/tool-names.ts'
import { describeUnknownTool } from '../tool/unknown-tool.ts'
import { describeRefusal, isOwnScript } from './active-skills.ts'
import { ConversationRecord, type Proposal } from './conversation-record.ts'
import { isSessionEntry, type SessionEntry } from './known.ts'
import { chooseRestored, REBASE_OPTIONS, type RebaseOptions, type SessionRebase } from './rebase.ts'
import type { SessionHost } from './session-host.ts'
import { KNOWN_OFFER, type OfferOptions, type SessionOffer, type SessionUpdate } from './session-offer.ts'
import {
  checkSessionOptions,
  type DeliveryMode,
  type InheritedOptions,
  type SessionOptions,
} from './session-options.ts'
import { checkSessionState, type SessionState } from './session-state.ts'

/**
 * The record of what one conversation was told. The conversation's catalog and tools never change. Changes arrive as
 * appended messages, so bytes that were already sent to the model stay unchanged.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using session = skills.session({ id: 'chat-1' })
 * const [skill] = session.tools
 * await skill?.execute({ name: 'support-pdf' })
 * console.log(session.ledger.entries().map(({ name }) => name)) // prints [ 'support-pdf' ]
 * console.log(await session.update()) // prints undefined
 * ```
 */
export class SkillSession implements Disposable {
  readonly id: string
  /** The session that opened this session with `child()`; `undefined` for a topmost session. */
  readonly parent: SkillSession | undefined
  /**
   * Identity of the conversation, shared by a session and its children. The identity is random, and a resumed
   * conversation keeps it. Pass it to `createAuthorTools` as `author.conversation`, so that written skills are live in
   * this conversation.
   */
  readonly conversation: string
  readonly scope: SkillScope | undefined
  /** Constant tool definitions, the same for every conversation. */
  readonly tools: readonly ToolDefinition[]
  /** The skills that the conversation has loaded. */
  readonly ledger: Ledger
  readonly delivery: DeliveryMode
  readonly #host: SessionHost
  readonly #retained: RetainedRevisions
  readonly #inherited: InheritedOptions
  readonly #view: ConversationView
  readonly #access: Conversation
  /** Reads the newest generation even in a pinned session. Includes the skills that the conversation wrote. */
  readonly #reader: SkillReader
  readonly #skillToolName: string
  readonly #active = new Map<string, Skill>()
  readonly #record: ConversationRecord
  /** The skills whose commands are tools, by the name of the tool. */
  #owners: ReadonlyMap<string, string> = new Map()
  /** The commands that were tools last, as JSON. */
  #offered: string | undefined
  /** True if the next model call has other tools than the call before it. */
  #hasOtherTools = false
  #turn = 0
  #toldTurn = -1
  /** The catalog at the previous model call; `false` if the conversation has started over since. */
  #sentCatalog: string | false | undefined
  #isClosed = false

  /** Used by `SkillRuntime.session` and `child`. */
  constructor(
    host: SessionHost,
    options: SessionOptions,
    retained: RetainedRevisions,
    parent?: SkillSession,
  ) {
    const { id, scope, resume, conversation, ...inherited } = options
    const { delivery = 'append', allowedTools = 'advise', skillToolName = TOOL_NAMES.loadSkill } = inherited
    this.id = id
    this.parent = parent
    const stored = resume === undefined ? undefined : checkSessionState(resume, host.hasher)
    if (stored !== undefined) host.seal?.check(stored)
    const secret = stored?.conversation ?? createConversationSecret()
    this.conversation =
      parent?.conversation ?? conversation ?? toConversationIdentity(secret, id, host.hasher)
    this.scope = scope
    this.delivery = delivery
    this.#skillToolName = skillToolName
    this.#host = host
    this.#retained = retained
    this.#inherited = inherited
    this.#view = { id: this.conversation, ...(scope === undefined ? {} : { scope }) }
    this.#reader = host.reader.forConversation(this.#view)
    const now = this.#newest()
    this.#record = new ConversationRecord({
      ...{ secret, delivery, generation: now, hasher: host.hasher, countTokens: host.countTokens },
      isInScope: this.#reader.isInScope,
      renderCatalog: generation => this.#renderCatalog(generation),
      retained,
    })
    this.ledger = this.#record.ledger
    if (stored !== undefined) {
      this.#sentCatalog = stored.catalog.text
      this.#record.resume(stored, host.seal !== undefined)
      this.#activate(stored.active)
    }
    this.#access = {
      reader: delivery === 'pinned' ? host.reader.forConversation(this.#pinnedView()) : this.#reader,
      ledger: this.ledger,
      activate: (skill, name) => {
        this.#record.load(skill, name)
        this.#active.set(name, skill)
      },
      allowedTools,
      ...(options.commandTools === true && { commandTools: true }),
      ...(options.describeUnknownSkill && { describeUnknownSkill: options.describeUnknownSkill }),
    }
    const scriptTools = host.scriptTools(this.#access).map(tool => this.#check(tool))
    this.tools = Object.freeze(
      createSkillTools(this.#access, skillToolName, scriptTools).map(tool => this.#withReports(tool)),
    )
    this.#pin()
  }

  /**
   * Text for the system prompt; empty if there were no skills when the text was rendered. The text stays byte-identical
   * until `rebase()`, even if the conversation is stored and resumed. With the delivery `rebuild`, each `update()` or
   * `commit()` replaces the text.
   */
  get catalog(): string {
    return this.#record.catalog.text
  }

  /** The catalog, with its token count and the names of the skills that did not fit. */
  get catalogDetails(): SkillCatalog {
    return this.#record.catalog
  }

  /** The newest generation that was reported to the conversation. */
  get generation(): Generation {
    return this.#record.generation
  }

  /** The skills that were loaded since the turn began, in the order in which they were loaded. */
  get active(): readonly Skill[] {
    return [...this.#active.values()]
  }

  /** True if the session was closed, or if another session resumed its conversation. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * With the option `commandTools`, returns the commands of the loaded skills as tools. Otherwise empty. Call this
   * method once at the start of a turn, and offer these tools after `tools` in all requests of the turn.
   */
  commandTools(): readonly ToolDefinition[] {
    if (this.#access.commandTools !== true) return []
    const loaded = this.#host
      .commandTools(this.#access)
      .filter(({ skill }) => this.ledger.find(skill) !== undefined)
    const owners = new Map(loaded.map(({ skill, tool }) => [tool.name, skill]))
    this.#owners = owners
    const offered = JSON.stringify(loaded.map(({ tool }) => [tool.name, tool.description, tool.inputSchema]))
    this.#hasOtherTools = this.#offered !== undefined && this.#offered !== offered
    this.#offered = offered
    return loaded.map(({ tool }) => this.#withReports(this.#check(tool)))
  }

  /** Starts a turn. The skills of the previous turn are no longer active. */
  beginTurn(): void {
    this.#active.clear()
    this.#turn++
  }

  /**
   * Returns the unreported changes as one message to append, or `undefined` if no skill changed. Changes that were
   * undone before the call are left out. Call `offer()` before every model call. Call `commit()` of the offer when your
   * stored history contains the message. If a model call fails or a turn is dropped, the next offer repeats the
   * changes.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * using session = skills.session({ id: 'chat-1' })
   * const messages: { role: 'user'; content: string }[] = []
   * source.put({ name: 'greet', description: 'Use when greeting.' })
   * const offer = await session.offer()
   * if (offer !== undefined) messages.push({ role: 'user', content: offer.text })
   * offer?.commit()
   * console.log(messages[0]?.content.includes('added: greet'), await session.offer()) // prints true undefined
   * ```
   */
  async offer(options?: OfferOptions): Promise<SessionOffer | undefined> {
    checkOptions('offer()', options, KNOWN_OFFER)
    const proposal = await this.#propose(options?.fresh)
    return proposal === undefined ? undefined : this.#toOffer(proposal)
  }

  /**
   * Returns the same message as `offer()`, and commits it immediately. Use `update()` if the host always appends the
   * message and never drops it.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * using session = skills.session({ id: 'chat-1' })
   * source.put({ name: 'greet', description: 'Use when greeting.' })
   * const update = await session.update()
   * console.log(update?.text.split('\n')[1]) // prints - added: greet: Use when greeting.
   * console.log(await session.update()) // prints undefined
   * ```
   */
  async update(options?: OfferOptions): Promise<SessionUpdate | undefined> {
    checkOptions('update()', options, KNOWN_OFFER)
    const proposal = await this.#propose(options?.fresh, true)
    return proposal?.update
  }

  /**
   * Returns the same as `offer()`, but synchronously and without reading the disk or the store. Returns `undefined` if
   * the session is closed.
   */
  pending(): SessionOffer | undefined {
    if (this.#isClosed || this.#isToldForTurn()) return undefined
    const proposal = this.#record.propose(this.#target(), this.#turn)
    return proposal === undefined ? undefined : this.#toOffer(proposal)
  }

  /** True if a skill was reported to the conversation. */
  knows(name: string): boolean {
    return this.#record.knows(name)
  }

  /**
   * Puts the instructions of a skill into a message that begins with `/` and the skill's name. Returns other messages
   * unchanged.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * using session = skills.session({ id: 'chat-1' })
   * const { skill, arguments: rest, text } = await session.expandSlash('/support-pdf the contract')
   * console.log(skill?.name, rest) // prints support-pdf the contract
   * console.log(text.includes('Instructions of support-pdf.')) // prints true
   * ```
   */
  async expandSlash(message: string, options: SlashOptions = {}): Promise<SlashExpansion> {
    checkOptions('expandSlash()', options, KNOWN_SLASH)
    const expansion = await expandSlash(message, this.#access, options)
    if (expansion.skill !== undefined) this.#recordUse(expansion.skill)
    return expansion
  }

  /**
   * Puts the instructions of a skill into a message, with arguments by name, for example from a form. The names are those
   * of the field `arguments` or, without this field, of `argument-hint`. If a skill has no names, `ARGUMENTS` is the
   * whole text. Does not read the folder of the skill again: pass a skill that `refresh()` has just returned.
   * @throws {SkillError} CLOSED, REVISION_NOT_FOUND
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const greet = { name: 'greet', description: 'Greets.', body: 'Greet $who.', fields: { arguments: ['who'] } }
   * await using skills = await createSkillRuntime({ sources: [new MemorySource({ label: 'mine' }, [greet])] })
   * using session = skills.session({ id: 'chat-1' })
   * const { text } = await session.invoke(skills.current.get('greet'), { who: 'Ann' })
   * console.log(text.includes('Greet Ann.')) // prints true
   * ```
   */
  async invoke(skill: Skill, values: Readonly<Record<string, string>>): Promise<Required<SlashExpansion>> {
    const asked = { generation: this.#access.reader.current, skill, name: skill.name }
    const invocation = await invokeSkill(asked, values, this.#access)
    this.#recordUse(skill)
    return invocation
  }

  /**
   * Returns the reason why a tool call is refused, as an answer to the model; `undefined` if the call is allowed. With
   * `allowedTools: 'enforce'`, refuses calls that an active skill does not list in `allowed-tools`. Active skills of a
   * parent also restrict its children. Call `checkTool()` inside each tool, because models may call tools that they saw
   * earlier.
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' }, [
   *   { name: 'review', description: 'Reviews code.', fields: { 'allowed-tools': 'Read Bash(git:*)' } },
   * ])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * using session = skills.session({ id: 'chat-1', allowedTools: 'enforce' })
   * session.beginTurn()
   * await session.expandSlash('/review')
   * console.log(session.checkTool('Bash', { command: 'git log' })) // prints undefined
   * console.log(session.checkTool('Write', { path: 'a.txt' }) === undefined) // prints false
   * ```
   */
  checkTool(name: string, input: unknown): string | undefined {
    // Tools that only read are always allowed, and a skill may use its own scripts.
    const isHarmless = name === this.#skillToolName || name === TOOL_NAMES.readFile
    const isOwnCommand = this.#active.has(this.#owners.get(name) ?? '')
    if (isHarmless || isOwnCommand || isOwnScript(this.#active, name, input)) return undefined
    const isEnforced = this.#access.allowedTools === 'enforce'
    const refusal = isEnforced ? describeRefusal(this.#active, name, input) : undefined
    return refusal ?? this.parent?.checkTool(name, input)
  }

  /** Returns the answer to a model that called an unknown tool. `tools` lists the names of the existing tools. */
  describeUnknownTool(name: string, tools: readonly string[]): string {
    return describeUnknownTool(name, tools, this.#access.reader, this.#skillToolName)
  }

  /**
   * Returns the state to store with the conversation, so that another process can continue the conversation.
   *
   * @example
   * ```ts
   * import { createSkillRuntime, type SessionState } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const before = skills.session({ id: 'chat-1' })
   * const stored = JSON.stringify(before.state())
   * before.close()
   * const state: SessionState = JSON.parse(stored)
   * using session = skills.session({ id: 'chat-1', resume: state })
   * console.log(session.catalog === before.catalog) // prints true
   * ```
   */
  state(): SessionState {
    return this.#toStored(this.#record.state())
  }

  /**
   * Restores an earlier state of this conversation. Call `revert()` when the host removes messages from its history,
   * for example after a failed turn. The session forgets all loads and reports that came after that state. Open offers
   * become void, and the skills of that state are active again. `tools` stay unchanged.
   * @throws {SkillError} CLOSED; INVALID_OPTION when the state is damaged
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * using session = skills.session({ id: 'chat-1' })
   * const before = session.state()
   * await session.expandSlash('/support-pdf')
   * session.revert(before) // the turn failed, and the host dropped its messages
   * console.log(session.ledger.entries()) // prints []
   * ```
   */
  revert(state: SessionState): void {
    this.replay(state, [], state.active)
  }

  /**
   * Restores an earlier state of this conversation like `revert()`, and adds what the history contains since then. Call
   * `replay()` when another program owns the history and has removed messages.
   * @param entries entries of committed offers and of loads, in the order of the history. Damaged entries, and skills
   * outside the scope, are left out. A client may write them: the store is asked before an old file is read
   * @param active names of the skills that were loaded since the turn began
   * @throws {SkillError} CLOSED; INVALID_OPTION when the state is damaged
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * using session = skills.session({ id: 'chat-1' })
   * const start = session.state()
   * source.put({ name: 'greet', description: 'Use when greeting.' })
   * const offer = await session.offer()
   * offer?.commit()
   * session.replay(start, offer === undefined ? [] : [offer.entry]) // the history still has the message
   * console.log(session.knows('greet')) // prints true
   * session.replay(start, []) // the message was removed
   * console.log(session.knows('greet')) // prints false
   * ```
   */
  replay(state: SessionState, entries: readonly SessionEntry[], active: readonly string[] = []): void {
    this.#assertOpen()
    this.#record.replay(checkSessionState(state, this.#host.hasher), entries.filter(isSessionEntry))
    this.#activate(active)
    this.#toldTurn = -1
  }

  /**
   * Opens a child of this session, for example for a subagent. The child sees the skills that both scopes include, and
   * the skills that this conversation wrote. The child has its own ledger and inherits the options that are not given.
   * Closing this session closes the child.
   * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const named = (name: string) => ({ name, description: 'Use on request.' })
   * const listed = ['support-mail', 'support-internal', 'billing'].map(named)
   * const source = new MemorySource({ label: 'mine' }, listed)
   * await using skills = await createSkillRuntime({ sources: [source] })
   * using session = skills.session({ id: 'chat-1', scope: { include: ['support-*'] } })
   * using helper = session.child({ id: 'chat-1/helper', scope: { exclude: ['support-internal'] } })
   * console.log(helper.catalogDetails.listed) // prints [ 'support-mail' ]
   * ```
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
   * Starts the conversation over on the newest generation, with a new catalog and the newest revisions of the loaded
   * skills. Earlier offers become void.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * using session = skills.session({ id: 'chat-1' })
   * await session.expandSlash('/support-pdf')
   * // The host has replaced the old messages by a summary.
   * const { catalog, restore } = await session.rebase({ maxTokens: 4_000 })
   * console.log(catalog === session.catalog, restore.map(skill => skill.name)) // prints true [ 'support-pdf' ]
   * ```
   */
  async rebase(options: RebaseOptions = {}): Promise<SessionRebase> {
    this.#assertOpen()
    checkOptions('rebase()', options, REBASE_OPTIONS)
    await this.#reader.fresh()
    const now = this.#newest()
    const find = (name: string): Skill | undefined =>
      this.#reader.isInScope(name) ? now.find(name) : undefined
    const parts = { find, conversation: this.#access, countTokens: this.#host.countTokens }
    const { kept, dropped } = await chooseRestored(parts, options)
    this.#record.restart(now, kept)
    this.#sentCatalog = false
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
   * Closes this session and its children, without waiting for the garbage collector. Makes the id available again, and
   * releases the old revisions that the conversation received. `state()` and the commit of an earlier offer still work.
   * Idempotent.
   */
  close(): void {
    this.#isClosed = true
    this.#retained.release()
    this.#host.ended(this)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Checks each call, because a model may call a tool that it saw earlier. */
  #check(tool: ToolDefinition): ToolDefinition {
    return withCheck(tool, (name, input) => this.checkTool(name, input))
  }

  #withReports(tool: ToolDefinition): ToolDefinition {
    const { id: conversation } = this
    return withUses(tool, {
      used: use => this.#host.used({ ...use, conversation }),
      missed: miss => this.#host.missed({ ...miss, conversation }),
    })
  }

  async #propose(fresh = true, commits = false): Promise<Proposal | undefined> {
    this.#assertOpen()
    if (this.#isToldForTurn()) return this.#report(undefined)
    if (fresh && this.delivery !== 'pinned') await this.#reader.fresh()
    await this.#record.learn(this.#target(), this.#reader)
    this.#assertOpen()
    // Do not use `await` below this line. Otherwise concurrent calls could return the same changes.
    const now = this.#target()
    const proposal = this.#record.propose(now, this.#turn)
    if (proposal === undefined) {
      this.#record.settle(now)
      this.#toldTurn = this.#turn
    } else if (commits) this.#commit(proposal)
    return this.#report(proposal)
  }

  /** Reports what the model has at the call for which an offer was made. Returns the offer. */
  #report(proposal: Proposal | undefined): Proposal | undefined {
    const { number: generation, digest } = proposal?.now ?? this.generation
    const { text: catalog } = proposal?.catalog ?? this.catalogDetails
    const sent = this.#sentCatalog ?? catalog
    this.#sentCatalog = catalog
    const skills = this.ledger.entries().map(({ name, revision }) => ({ name, revision }))
    const notice = proposal && {
      tokens: proposal.update.tokens,
      skills: proposal.notice.said.map(([name]) => name),
    }
    const call = {
      conversation: this.id,
      generation,
      digest,
      skills,
      isPrefixKept: sent === catalog && !this.#hasOtherTools,
    }
    this.#hasOtherTools = false
    this.#host.offered({ ...call, ...defined({ notice }) })
    return proposal
  }

  #recordUse({ name: skill, revision }: Skill): void {
    this.#host.used({ skill, revision, by: 'user', conversation: this.id })
  }

  #isToldForTurn(): boolean {
    return this.#inherited.applyAt === 'turn' && this.#toldTurn === this.#turn
  }

  #toOffer(proposal: Proposal): SessionOffer {
    return Object.freeze({
      ...proposal.update,
      ...(this.delivery === 'rebuild' ? { catalog: proposal.catalog.text } : {}),
      entry: proposal.notice,
      commit: () => this.#commit(proposal),
      state: () => this.#toStored(this.#record.state(proposal)),
    })
  }

  /** Makes only the skills with these names active, at their newest revisions. */
  #activate(names: readonly string[] = []): void {
    this.#active.clear()
    for (const name of names.filter(this.#reader.isInScope)) {
      const skill = this.#newest().find(name)
      if (skill !== undefined) this.#active.set(name, skill)
    }
  }

  #toStored(record: SessionState): SessionState {
    const { seal } = this.#host
    const active = [...this.#active.keys()]
    const state = active.length === 0 ? record : { ...record, active }
    // A seal must not turn the claims of a reverted state into facts.
    return seal === undefined ? state : seal.seal({ ...state, seen: this.#record.ledger.provenSeen() })
  }

  #commit(proposal: Proposal): void {
    if (this.#record.commit(proposal)) this.#toldTurn = Math.max(this.#toldTurn, proposal.turn)
  }

  #renderCatalog(generation: Generation): SkillCatalog {
    return this.#host.reader.forConversation({ ...this.#view, pinned: generation }).catalog()
  }

  /** Returns a view whose generation is always the last reported generation, even after `rebase()`. */
  #pinnedView(): ConversationView {
    const told = (): Generation => this.#record.generation
    return {
      ...this.#view,
      get pinned() {
        return told()
      },
    }
  }

  /**
   * Returns the newest generation, with the skills that the conversation wrote. If this session and its parent are
   * pinned, returns the parent's generation.
   */
  #newest(): Generation {
    const isPinnedTwice = this.delivery === 'pinned' && this.parent?.delivery === 'pinned'
    return isPinnedTwice ? this.parent.generation : this.#reader.current
  }

  /** Returns the generation that the next notice describes. */
  #target(): Generation {
    return this.delivery === 'pinned' ? this.#record.generation : this.#newest()
  }

  /** Retains the revisions of a pinned generation, because the conversation may load any of its skills at any time. */
  #pin(): void {
    if (this.delivery !== 'pinned' || this.#isClosed) return
    for (const skill of listInScope(this.generation.list(), this.#reader.isInScope))
      this.#retained.add(skill.revision)
  }

  #assertOpen(): void {
    if (!this.#isClosed) return
    const shown = quote(this.id)
    throw new SkillError('CLOSED', `the session ${shown} is closed; ask the runtime for a new one`)
  }
}
