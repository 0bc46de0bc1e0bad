import { LookalikeNames } from '../skill/lookalike-names.ts'
import { byPrecedence, type Candidate, directionOf, type NameStanding, nameOf } from './candidate.ts'
import type { DuplicateChooser, DuplicatePolicy } from './duplicate-policy.ts'

/**
 * Maps each skill name to the folders that have this name, in order of precedence. Only `SkillRegistry` uses this
 * index.
 */
export class NameIndex {
  readonly #policy: DuplicatePolicy
  readonly #onChooserError: (error: unknown) => void
  readonly #byName = new Map<string, Candidate[]>()
  readonly #lookalikes = new LookalikeNames()

  /**
   * If a chooser throws or returns a skill that is not a candidate, `onChooserError` receives the error and the first
   * candidate is served.
   */
  constructor(policy: DuplicatePolicy, onChooserError: (error: unknown) => void) {
    this.#policy = policy
    this.#onChooserError = onChooserError
  }

  /** The number of names. */
  get size(): number {
    return this.#byName.size
  }

  competing(name: string): readonly Candidate[] {
    return this.#byName.get(name) ?? []
  }

  add(candidate: Candidate): void {
    const name = nameOf(candidate)
    const known = this.#byName.get(name)
    if (known === undefined) {
      this.#byName.set(name, [candidate])
      this.#lookalikes.add(name)
    } else
      this.#byName.set(
        name,
        [...known, candidate].sort((a, b) => byPrecedence(a, b, directionOf(this.#policy))),
      )
  }

  remove(candidate: Candidate): void {
    const name = nameOf(candidate)
    const rest = this.competing(name).filter(each => each !== candidate)
    if (rest.length === 0) {
      this.#byName.delete(name)
      this.#lookalikes.remove(name)
    } else this.#byName.set(name, rest)
  }

  /** Returns the folders whose names look like the given name but are not equal to it. */
  looking(name: string): readonly Candidate[] {
    return this.#lookalikes.like(name).flatMap(each => this.competing(each))
  }

  standing(name: string): NameStanding {
    return { winner: this.winner(name), lookalikes: this.#lookalikes.like(name) }
  }

  /** Returns the candidate whose skill is served under a name. */
  winner(name: string): Candidate | undefined {
    const competing = this.competing(name)
    const first = competing.find(isServable)
    if (typeof this.#policy !== 'function' || first === undefined) return first
    // The chooser gets only skills of equal trust, so that no reviewed source replaces a trusted one.
    const peers = competing.filter(each => isServable(each) && each.trust === first.trust)
    return this.#choose(this.#policy, peers)
  }

  #choose(choose: DuplicateChooser, candidates: readonly Candidate[]): Candidate | undefined {
    if (candidates.length === 1) return candidates[0]
    try {
      const skills = candidates.flatMap(({ live }) => live ?? [])
      const chosen = choose(Object.freeze(skills))
      const winner = candidates.find(({ live }) => live === chosen)
      if (winner !== undefined) return winner
      throw new TypeError('onDuplicate returned a skill that is not one of its candidates')
    } catch (thrown) {
      this.#onChooserError(thrown)
      return candidates[0]
    }
  }
}

function isServable(candidate: Candidate): boolean {
  return candidate.live !== undefined
}
