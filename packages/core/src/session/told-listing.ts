import { listInScope } from '../catalog/catalog-cache.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Hasher } from '../host.ts'
import type { Generation } from '../registry/generation.ts'
import { compareText } from '../skill/compare.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { diffAnnounced, diffListings, type ListingDiff } from './listing-diff.ts'
import { type Announced, descriptionKey } from './session-state.ts'

/** What one message says of the listing. */
export interface ListingNotice {
  /** Rises with each message. Of two messages about one skill the one with the higher number is right. */
  readonly ordinal: number
  /** The listing that the differences start from. */
  readonly base: number
  readonly now: Generation
  /** Absent when the new catalog says it instead. */
  readonly listing: ListingDiff | undefined
}

/** What a conversation knows of names and descriptions. */
export interface ToldSkills {
  readonly generation: Generation
  /** That of the generation, or of an older one that a stored conversation knew. */
  readonly digest: Digest
  /** Present when the conversation does not know exactly what the generation lists. */
  readonly announced: Announced | undefined
}

/**
 * The names and descriptions that a conversation was told of. In the usual case this is what one generation lists. After a
 * resume, or when offers are committed out of order, it is a list of its own.
 */
export class ToldListing {
  readonly #isInScope: ScopeTest
  readonly #hasher: Hasher
  #told: ToldSkills
  /** Counts changes of the listing, so that an offer can tell whether another one was committed meanwhile. */
  #base = 0
  #newest = 0
  /** Number of the message that was the last about a name. */
  readonly #saidBy = new Map<string, number>()

  constructor(generation: Generation, isInScope: ScopeTest, hasher: Hasher) {
    this.#told = toToldSkills(generation)
    this.#isInScope = isInScope
    this.#hasher = hasher
  }

  /** What the conversation knows now. */
  get told(): ToldSkills {
    return this.#told
  }

  /** The newest generation of which the conversation was told. */
  get generation(): Generation {
    return this.#told.generation
  }

  /** Number of the present listing, for `ListingNotice.base`. */
  get base(): number {
    return this.#base
  }

  /** Tells whether the conversation knows exactly what a generation lists. */
  isAt(generation: Generation): boolean {
    return this.#told.generation === generation && this.#told.announced === undefined
  }

  /** Tells whether the conversation was told of a name. */
  has(name: string): boolean {
    const { generation, announced } = this.#told
    return announced === undefined
      ? this.#isInScope(name) && generation.find(name) !== undefined
      : announced.some(([told]) => told === name)
  }

  diff(now: Generation): ListingDiff {
    const { generation, announced } = this.#told
    if (announced === undefined) return diffListings(generation.list(), now.list(), this.#isInScope)
    return diffAnnounced(announced, now.list(), this.#isInScope, skill => this.#keyOf(skill))
  }

  /** Lists names and descriptions, for a state to store. */
  announced({ generation, announced }: ToldSkills = this.#told): Announced {
    if (announced !== undefined) return announced
    return listInScope(generation.list(), this.#isInScope).map(
      skill => [skill.name, this.#keyOf(skill)] as const,
    )
  }

  /** Returns what the conversation knows once it has a message. */
  after({ ordinal, base, now, listing }: ListingNotice): ToldSkills {
    if (base === this.#base) return toToldSkills(now)
    if (listing === undefined) return ordinal > this.#newest ? toToldSkills(now) : this.#told
    // Another message was committed since this one was written: only what it says itself counts.
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

  /** Notes that the conversation knows what a generation lists, without a message. */
  moveTo(generation: Generation, ordinal: number): void {
    this.#change(toToldSkills(generation), ordinal)
  }

  /** Notes that the conversation begins anew with a generation: no earlier message counts any more. */
  restart(generation: Generation, ordinal: number): void {
    this.moveTo(generation, ordinal)
    this.forgetMessages()
  }

  /** No earlier message counts any more. */
  forgetMessages(): void {
    this.#base++
    this.#saidBy.clear()
  }

  /** Notes what a stored conversation was told of. */
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

function toToldSkills(generation: Generation): ToldSkills {
  return { generation, digest: generation.digest, announced: undefined }
}
