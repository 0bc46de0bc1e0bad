import { contentKeys } from '../activation/content-keys.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import type { SkillCatalog, TokenCounter } from '../catalog/render-catalog.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import { compareText } from '../skill/compare.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { ConversationLedger } from './conversation-ledger.ts'
import { type DescribeOptions, describeUpdate } from './describe-update.ts'
import { fold, type Known, type Notice, type SessionEntry, withoutLaterLoads } from './known.ts'
import type { KnownRevision } from './loaded-change.ts'
import type { Kept } from './rebase.ts'
import { renderUpdate } from './render-update.ts'
import type { SessionUpdate } from './session-offer.ts'
import type { DeliveryMode } from './session-options.ts'
import { freezeCatalog, type SessionState } from './session-state.ts'
import { storedList, toldListOf } from './told-list.ts'

/** A message, with what its commit records. */
export interface Proposal {
  readonly update: SessionUpdate
  /** The turn in which the message was offered. */
  readonly turn: number
  readonly notice: Notice
  /** The generation that the message describes. */
  readonly now: Generation
  /** What the conversation knew when the message was offered. */
  readonly offered: Known
  /** The catalog of the conversation after the commit of the message. */
  readonly catalog: SkillCatalog
  /** Differs after the conversation started over. The message is then void. */
  readonly epoch: object
}

export interface ConversationRecordOptions {
  /** The random value of the conversation. */
  readonly secret: string
  readonly delivery: DeliveryMode
  readonly generation: Generation
  readonly isInScope: ScopeTest
  readonly hasher: Hasher
  readonly countTokens: TokenCounter
  readonly renderCatalog: (generation: Generation) => SkillCatalog
  readonly retained: RetainedRevisions
}

/**
 * What one conversation knows. Loads, reads and committed messages are folded in the order in which the history gets
 * them.
 */
export class ConversationRecord {
  readonly ledger: ConversationLedger
  readonly #options: ConversationRecordOptions
  readonly #committed = new WeakSet<Proposal>()
  /** Revisions that the conversation was told, with their file lists. `undefined`: the store no longer has it. */
  readonly #revisions = new Map<Digest, KnownRevision | undefined>()
  #catalog: SkillCatalog
  #generation: Generation
  #epoch = {}
  /** A generation for which the conversation had nothing to hear, with what it knew. */
  #settled: { readonly now: Generation; readonly known: Known } | undefined

  constructor(options: ConversationRecordOptions) {
    const { generation, isInScope, hasher, retained, renderCatalog } = options
    this.#options = options
    this.#generation = generation
    this.#catalog = renderCatalog(generation)
    this.ledger = new ConversationLedger(retained, {
      generation: generation.digest,
      list: toldListOf(generation, isInScope, hasher),
      said: new Map(),
      loaded: new Map(),
      seen: new Map(),
    })
  }

  get catalog(): SkillCatalog {
    return this.#catalog
  }

  /** The newest generation that was reported to the conversation. */
  get generation(): Generation {
    return this.#generation
  }

  get #known(): Known {
    return this.ledger.known
  }

  knows(name: string): boolean {
    const said = this.#known.said.get(name)
    return said === undefined ? this.#known.list.has(name) : said !== null
  }

  /** Records that the conversation received the instructions of a skill. */
  load(skill: Skill, name: string): void {
    const content = contentKeys(skill, this.#options.hasher)
    this.ledger.add({ kind: 'load', name, revision: skill.revision, content })
    this.#keep(skill)
  }

  /** Restores the record of a stored conversation. `isProven` is true if the state has a valid seal. */
  resume(state: SessionState, isProven: boolean): void {
    const { catalog, announced, generation, ledger, seen } = state
    const { isInScope, hasher } = this.#options
    this.ledger.claim(seen, ledger, { isInScope, isProven })
    const list = storedList(announced, isInScope, hasher)
    this.ledger.set({ ...this.#known, generation, list, said: new Map() })
    const { text, tokens, listed, omitted } = catalog
    // With a narrower scope, the stored catalog would show skills that the conversation may no longer see.
    if (![...listed, ...omitted].every(isInScope)) return
    this.#catalog = Object.freeze({ text, tokens, listed, omitted })
  }

  /**
   * Restores an earlier state, and adds entries. Other messages and loads after that state become void. Revisions that
   * the conversation has not seen in this process count as claims.
   */
  replay(state: SessionState, entries: readonly SessionEntry[]): void {
    this.#epoch = {}
    this.ledger.set({ ...this.#known, loaded: new Map() })
    this.resume(state, false)
    const { isInScope } = this.#options
    for (const entry of entries)
      if (entry.kind === 'notice' || isInScope(entry.name)) this.ledger.claimEntry(entry)
  }

  /** Reads revisions that are no longer served, so that a notice can name the changed files. */
  async learn(now: Generation, reader: SkillReader): Promise<void> {
    if (this.#isSettled(now)) return
    for (const { name, revision, toldRevision } of this.ledger.entries()) {
      const skill = now.find(name)
      if (skill === undefined || skill.revision === toldRevision) continue
      for (const wanted of [revision, toldRevision])
        if (wanted !== undefined && wanted !== skill.revision && !this.#revisions.has(wanted))
          this.#revisions.set(
            wanted,
            await reader.findEarlier(skill, wanted, !this.ledger.isProven(name, wanted)),
          )
    }
  }

  /** Returns the message that tells the conversation which skills changed; `undefined` if no skill changed. */
  propose(now: Generation, turn: number): Proposal | undefined {
    if (this.#isSettled(now)) return undefined
    const { delivery, isInScope, hasher, countTokens, renderCatalog } = this.#options
    const find = (revision: Digest): KnownRevision | undefined => this.#revisions.get(revision)
    const options: DescribeOptions = { delivery, isInScope, hasher, find }
    const described = describeUpdate(this.#known, now, options)
    if (described === undefined) return undefined
    const { diff, changes, notice } = described
    const text = renderUpdate(diff, changes, now.digest)
    return {
      ...{ turn, notice, now, offered: this.#known, epoch: this.#epoch },
      catalog: delivery === 'rebuild' ? renderCatalog(now) : this.#catalog,
      update: Object.freeze({
        text,
        tokens: countTokens(text),
        generation: now.number,
        digest: now.digest,
      }),
    }
  }

  /**
   * Records that the conversation contains a message. Returns `false` for a message that is void or already committed.
   */
  commit(proposal: Proposal): boolean {
    if (!this.#isOpen(proposal)) return false
    this.#committed.add(proposal)
    this.ledger.set(this.#after(proposal))
    this.#generation = proposal.now
    this.#catalog = proposal.catalog
    for (const [name] of proposal.notice.said) {
      const skill = proposal.now.find(name)
      if (skill !== undefined && this.#known.loaded.has(name)) this.#keep(skill)
    }
    this.#prune()
    return true
  }

  /** Records that the conversation has nothing to hear about a generation. */
  settle(now: Generation): void {
    const { delivery, renderCatalog } = this.#options
    if (!this.#isSettled(now) && delivery !== 'silent') {
      this.ledger.set({ ...this.#known, ...this.#toldAt(now) })
      this.#generation = now
      if (delivery === 'rebuild') this.#catalog = renderCatalog(now)
    }
    this.#settled = { now, known: this.#known }
  }

  /** Records that the conversation starts over at a generation, with the loaded skills that it keeps. */
  restart(now: Generation, kept: readonly Kept[]): void {
    this.#epoch = {}
    this.ledger.set({ ...this.#known, ...this.#toldAt(now), loaded: new Map() })
    for (const { skill, name } of kept) this.load(skill, name)
    this.#generation = now
    this.#catalog = this.#options.renderCatalog(now)
    this.#prune()
  }

  /**
   * Returns the state to store. If `proposal` is given, returns the state as it will be after the proposal is
   * committed.
   */
  state(proposal?: Proposal): SessionState {
    const isOpen = proposal !== undefined && this.#isOpen(proposal)
    const { generation, list, said, loaded, seen } = isOpen ? this.#after(proposal) : this.#known
    const announced = new Map(list.announced())
    for (const [name, key] of said)
      if (key === null) announced.delete(name)
      else announced.set(name, key)
    return {
      version: 3,
      conversation: this.#options.secret,
      generation,
      catalog: freezeCatalog(isOpen ? proposal.catalog : this.#catalog, this.#options.hasher),
      announced: said.size === 0 ? list.announced() : [...announced].sort(([a], [b]) => compareText(a, b)),
      ledger: [...loaded.values()],
      seen: Object.fromEntries(seen),
    }
  }

  #after({ notice, offered, now }: Proposal): Known {
    const known = fold(this.#known, withoutLaterLoads(notice, offered, this.#known))
    return this.#options.delivery === 'rebuild' ? { ...known, ...this.#toldAt(now) } : known
  }

  #toldAt(now: Generation): Pick<Known, 'generation' | 'list' | 'said'> {
    const { isInScope, hasher } = this.#options
    return { generation: now.digest, list: toldListOf(now, isInScope, hasher), said: new Map() }
  }

  #isSettled(now: Generation): boolean {
    return this.#settled?.now === now && this.#settled.known === this.#known
  }

  #isOpen(proposal: Proposal): boolean {
    return !this.#committed.has(proposal) && proposal.epoch === this.#epoch
  }

  #keep({ revision, files, skillFile, bodyDigest }: Skill): void {
    this.#revisions.set(revision, { revision, files, skillFile, bodyDigest })
  }

  #prune(): void {
    const named = new Set(
      this.ledger.entries().flatMap(({ revision, toldRevision }) => [revision, toldRevision]),
    )
    for (const revision of this.#revisions.keys()) if (!named.has(revision)) this.#revisions.delete(revision)
  }
}
