import type { MemoryLedger } from '../activation/ledger.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import type { SkillCatalog, TokenCounter } from '../catalog/render-catalog.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import { compareText } from '../skill/compare.ts'
import type { Skill } from '../skill/skill.ts'
import type { ListingDiff } from './listing-diff.ts'
import { type LoadedNotice, LoadedSkills } from './loaded-skills.ts'
import type { Kept } from './rebase.ts'
import { renderUpdate } from './render-update.ts'
import type { SessionUpdate } from './session-offer.ts'
import type { DeliveryMode } from './session-options.ts'
import { freezeCatalog, type SessionState } from './session-state.ts'
import { type ListingNotice, ToldListing } from './told-listing.ts'

/** A message, with all data that its commit records. */
export interface Proposal extends ListingNotice, LoadedNotice {
  readonly update: SessionUpdate
  /** The catalog of the conversation after the commit of the message. */
  readonly catalog: SkillCatalog
  /** The turn in which the message was offered. */
  readonly turn: number
}

export interface TellingRecordOptions {
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

const NO_NAMES: ReadonlySet<string> = new Set()
const NOTHING: ListingDiff = Object.freeze({ added: [], removed: [], redescribed: [] })

/**
 * The record of what one conversation knows: the reported skills, the loaded skills and the catalog. Messages and loads
 * are numbered, so that a proposal can be committed late, twice, or never.
 */
export class TellingRecord {
  readonly #options: TellingRecordOptions
  readonly #listing: ToldListing
  readonly #loaded: LoadedSkills
  readonly #committed = new WeakSet<Proposal>()
  #catalog: SkillCatalog
  /** Ordinal of the newest committed message. */
  #newest = 0
  /**
   * True if the conversation may differ from the reported generation. A slow load or a late commit can give the
   * conversation a revision that is older than the reported revision.
   */
  #mustCompare = false
  /** Counts messages and loads. */
  #ordinal = 0
  /** Messages with this or a lower ordinal are void, because the conversation started over later. */
  #voidUntil = 0

  constructor(options: TellingRecordOptions) {
    const { generation, isInScope, hasher, retained, renderCatalog } = options
    this.#options = options
    this.#listing = new ToldListing(generation, isInScope, hasher)
    this.#loaded = new LoadedSkills(isInScope, retained)
    this.#catalog = renderCatalog(generation)
  }

  get ledger(): MemoryLedger {
    return this.#loaded.ledger
  }

  get catalog(): SkillCatalog {
    return this.#catalog
  }

  get generation(): Generation {
    return this.#listing.generation
  }

  knows(name: string): boolean {
    return this.#listing.has(name)
  }

  /** Records that the conversation received the instructions of a skill. */
  load(skill: Skill, name: string): void {
    this.#loaded.load(skill, name, ++this.#ordinal)
    this.#mustCompare = true
  }

  /** Restores the record of a stored conversation. `isProven` is true if the state has a valid seal. */
  resume(state: SessionState, isProven: boolean): void {
    const { catalog, announced, generation } = state
    this.#loaded.resume(state, isProven)
    // If the state contains no catalog, a pinned conversation starts over at the new generation.
    if (catalog === undefined && this.#options.delivery === 'pinned') return
    this.#listing.resume(announced, generation)
    if (catalog === undefined) return
    const { text, tokens, listed, omitted } = catalog
    // With a narrower scope, the stored catalog would show skills that the conversation may no longer see.
    if (![...listed, ...omitted].every(this.#options.isInScope)) return
    this.#catalog = Object.freeze({ text, tokens, listed, omitted })
  }

  /** Restores an earlier state. Messages and loads after that state become void. */
  revert(state: SessionState): void {
    this.#voidUntil = this.#newest = ++this.#ordinal
    this.#loaded.clear()
    this.#listing.forgetMessages()
    this.resume(state, false)
  }

  /** Reads the old revisions of a resumed conversation, so that a notice can name the changed files. */
  async learn(now: Generation, reader: SkillReader): Promise<void> {
    if (!this.#isAt(now)) await this.#loaded.learn(now, reader)
  }

  /** Returns the message that tells the conversation which skills changed; `undefined` if no skill changed. */
  propose(now: Generation, turn: number): Proposal | undefined {
    if (this.#isAt(now)) return undefined
    const { delivery } = this.#options
    const loaded = delivery === 'silent' ? [] : this.#loaded.changes(now)
    const listing = this.#diff(now)
    const { added, removed, redescribed } = listing ?? NOTHING
    if (added.length + removed.length + redescribed.length + loaded.length === 0) return undefined
    const text = renderUpdate(listing ?? NOTHING, loaded, now.digest)
    const named = new Set([...loaded.map(({ entry }) => entry.name), ...removed])
    return {
      ...{ ordinal: ++this.#ordinal, base: this.#listing.base, now, listing, turn },
      marks: this.#loaded.marks(now, named, true),
      catalog: delivery === 'rebuild' ? this.#options.renderCatalog(now) : this.#catalog,
      update: Object.freeze({
        text,
        tokens: this.#options.countTokens(text),
        generation: now.number,
        digest: now.digest,
      }),
    }
  }

  /**
   * Records that the conversation contains a message. Returns `false` for a message that is void or already committed.
   */
  commit(proposal: Proposal): boolean {
    if (this.#isOver(proposal)) return false
    this.#committed.add(proposal)
    this.#listing.commit(proposal)
    this.#loaded.commit(proposal)
    if (proposal.ordinal > this.#newest) {
      this.#newest = proposal.ordinal
      if (this.#options.delivery === 'rebuild') this.#catalog = proposal.catalog
    }
    this.#mustCompare = true
    return true
  }

  /** Records, without a message, that the conversation is at a generation. */
  moveTo(now: Generation): void {
    if (this.#isAt(now)) return
    this.#mustCompare = false
    const ordinal = ++this.#ordinal
    this.#newest = ordinal
    const hearsChanges = this.#options.delivery !== 'silent'
    this.#loaded.commit({ ordinal, marks: this.#loaded.marks(now, NO_NAMES, hearsChanges) })
    this.#listing.moveTo(now, ordinal)
    if (this.#options.delivery === 'rebuild') this.#catalog = this.#options.renderCatalog(now)
  }

  /** Records that the conversation starts over at a generation. */
  restart(now: Generation, kept: readonly Kept[], dropped: readonly string[]): void {
    const ordinal = ++this.#ordinal
    this.#voidUntil = ordinal
    this.#newest = ordinal
    for (const name of dropped) this.#loaded.forget(name)
    for (const { skill, name } of kept) this.#loaded.note(skill, name, ordinal)
    this.#listing.restart(now, ordinal)
    this.#catalog = this.#options.renderCatalog(now)
  }

  /**
   * Returns the state to store. If `proposal` is given, returns the state as it will be after the proposal is
   * committed.
   */
  state(proposal?: Proposal): SessionState {
    const isOpen = proposal !== undefined && !this.#isOver(proposal)
    const told = isOpen ? this.#listing.after(proposal) : this.#listing.told
    const isNewest = isOpen && proposal.ordinal > this.#newest
    return {
      version: 2,
      conversation: this.#options.secret,
      generation: told.digest,
      catalog: freezeCatalog(isNewest ? proposal.catalog : this.#catalog, this.#options.hasher),
      announced: this.#listing.announced(told),
      ledger: isOpen ? this.#loaded.after(proposal) : this.ledger.entries(),
      seen: this.ledger.allSeen(),
    }
  }

  #isAt(now: Generation): boolean {
    return !this.#mustCompare && this.#listing.isAt(now)
  }

  #isOver(proposal: Proposal): boolean {
    return this.#committed.has(proposal) || proposal.ordinal <= this.#voidUntil
  }

  /**
   * Returns the changes of the listed skills; `undefined` if the new catalog shows these changes or the delivery is
   * `silent`.
   */
  #diff(now: Generation): ListingDiff | undefined {
    const { delivery } = this.#options
    // A pinned conversation differs from its generation only after a resume.
    if (delivery !== 'append' && delivery !== 'pinned') return undefined
    const diff = this.#listing.diff(now)
    // Also report the removal of a skill that was loaded but never listed, because the model relies on the instructions
    // of the skill.
    const unlisted = this.#loaded.gone(now).filter(name => !diff.removed.includes(name))
    return unlisted.length === 0
      ? diff
      : { ...diff, removed: [...diff.removed, ...unlisted].sort(compareText) }
  }
}
