import { listForModel } from '../catalog/catalog-cache.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Hasher } from '../host.ts'
import type { Generation } from '../registry/generation.ts'
import { compareText } from '../skill/compare.ts'
import type { Digest } from '../skill/digest.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'
import { diffAnnounced, diffListings, type ListingDiff } from './listing-diff.ts'
import { type Announced, descriptionKey } from './session-state.ts'

/** The part of a message that is about names and descriptions. */
export interface ListingNotice {
  /** Increases with each message. If two messages are about one skill, the message with the higher number is valid. */
  readonly ordinal: number
  /** Number of the listing with which the message was compared. */
  readonly base: number
  readonly now: Generation
  /** The differences from the listing `base`; absent if the new catalog shows these differences. */
  readonly listing: ListingDiff | undefined
}

/** The names and descriptions that a conversation knows. */
export interface ToldSkills {
  readonly generation: Generation
  /** Digest of the generation. After a resume, digest of the older generation that the stored conversation knew. */
  readonly digest: Digest
  /** The names and descriptions that the conversation knows; `undefined` if they equal the list of the generation. */
  readonly announced: Announced | undefined
}

/**
 * The names and descriptions that were reported to a conversation. Usually these equal the list of one generation.
 * After a resume or after late commits, the conversation has its own list.
 */
export class ToldListing {
  readonly #isInScope: ScopeTest
  readonly #hasher: Hasher
  #told: ToldSkills
  /** Counts changes of the listing, so that a commit can detect that another message was committed earlier. */
  #base = 0
  #newest = 0
  /** For each skill name, the ordinal of the last message that names the skill. */
  readonly #saidBy = new Map<string, number>()

  constructor(generation: Generation, isInScope: ScopeTest, hasher: Hasher) {
    this.#told = toToldSkills(generation)
    this.#isInScope = isInScope
    this.#hasher = hasher
  }

  /** The names and descriptions that the conversation knows now. */
  get told(): ToldSkills {
    return this.#told
  }

  /** The newest generation that was reported to the conversation. */
  get generation(): Generation {
    return this.#told.generation
  }

  /** Number of the current listing, for `ListingNotice.base`. */
  get base(): number {
    return this.#base
  }

  /** True if the conversation knows exactly the list of a generation. */
  isAt(generation: Generation): boolean {
    return this.#told.generation === generation && this.#told.announced === undefined
  }

  /** True if a name was reported to the conversation. */
  has(name: string): boolean {
    const { generation, announced } = this.#told
    return announced === undefined
      ? this.#isInScope(name) && isKnownToModel(generation.find(name))
      : announced.some(([told]) => told === name)
  }

  diff(now: Generation): ListingDiff {
    const { generation, announced } = this.#told
    if (announced === undefined) return diffListings(generation.list(), now.list(), this.#isInScope)
    return diffAnnounced(announced, now.list(), this.#isInScope, skill => this.#keyOf(skill))
  }

  /** Returns the known names, each with its description key, in the form that a stored state contains. */
  announced({ generation, announced }: ToldSkills = this.#told): Announced {
    if (announced !== undefined) return announced
    return listForModel(generation.list(), this.#isInScope).map(
      skill => [skill.name, this.#keyOf(skill)] as const,
    )
  }

  /** Returns the names and descriptions that the conversation will know after a message is committed. */
  after({ ordinal, base, now, listing }: ListingNotice): ToldSkills {
    if (base === this.#base) return toToldSkills(now)
    if (listing === undefined) return ordinal > this.#newest ? toToldSkills(now) : this.#told
    // Another message was committed after this message was rendered. Update only the skills that this message names.
    const told = new Map(this.announced())
    const isNews = ({ name }: Pick<Skill, 'name'>): boolean => (this.#saidBy.get(name) ?? 0) < ordinal
    for (const name of listing.removed) if (isNews({ name })) told.delete(name)
    for (const skill of [...listing.added, ...listing.redescribed])
      if (isNews(skill)) told.set(skill.name, this.#keyOf(skill))
    return {
      ...(ordinal > this.#newest ? toToldSkills(now) : this.#told),
      announced: [...told].sort(([a], [b]) => compareText(a, b)),
    }
  }

  commit(notice: ListingNotice): void {
    const { ordinal, listing } = notice
    this.#change(this.after(notice), ordinal)
    if (listing === undefined) return
    const { removed, added, redescribed } = listing
    const names = [...removed, ...[...added, ...redescribed].map(({ name }) => name)]
    for (const name of names) this.#saidBy.set(name, Math.max(ordinal, this.#saidBy.get(name) ?? 0))
  }

  /** Records, without a message, that the conversation knows the list of a generation. */
  moveTo(generation: Generation, ordinal: number): void {
    this.#change(toToldSkills(generation), ordinal)
  }

  /** Records that the conversation starts over with a generation. All earlier messages become void. */
  restart(generation: Generation, ordinal: number): void {
    this.moveTo(generation, ordinal)
    this.forgetMessages()
  }

  /** Makes all earlier messages void. */
  forgetMessages(): void {
    this.#base++
    this.#saidBy.clear()
  }

  /** Restores the listing of a stored conversation. */
  resume(announced: Announced, digest: Digest): void {
    this.#told = { ...this.#told, digest, announced }
  }

  #change(told: ToldSkills, ordinal: number): void {
    this.#told = told
    this.#base++
    this.#newest = Math.max(this.#newest, ordinal)
  }

  #keyOf(skill: Skill): string {
    return descriptionKey(skill, this.#hasher)
  }
}

function isKnownToModel(skill: Skill | undefined): boolean {
  return skill !== undefined && isModelInvocable(skill)
}

function toToldSkills(generation: Generation): ToldSkills {
  return { generation, digest: generation.digest, announced: undefined }
}
