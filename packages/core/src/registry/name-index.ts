import { compareText } from '../skill/compare.ts'
import { type Candidate, nameOf } from './candidate.ts'

/** Which of several skills with one name is served, by the order in which the sources were declared. */
export type DuplicatePolicy = 'first-wins' | 'last-wins'

/** The folders that compete for each name, in the order of precedence. Only the registry's writer looks at it. */
export class NameIndex {
  readonly #policy: DuplicatePolicy
  readonly #byName = new Map<string, Candidate[]>()

  constructor(policy: DuplicatePolicy) {
    this.#policy = policy
  }

  /** How many names there are. */
  get size(): number {
    return this.#byName.size
  }

  competing(name: string): readonly Candidate[] {
    return this.#byName.get(name) ?? []
  }

  add(candidate: Candidate): void {
    const name = nameOf(candidate)
    const known = this.#byName.get(name)
    if (known === undefined) this.#byName.set(name, [candidate])
    else this.#byName.set(name, [...known, candidate].sort(byPrecedence))
  }

  remove(candidate: Candidate): void {
    const name = nameOf(candidate)
    const rest = this.competing(name).filter(each => each !== candidate)
    if (rest.length === 0) this.#byName.delete(name)
    else this.#byName.set(name, rest)
  }

  /** The candidate whose skill is served under a name. */
  winner(name: string): Candidate | undefined {
    const competing = this.competing(name)
    if (this.#policy === 'first-wins') return competing.find(isServable)
    // Later sources win; within one source the first path still does.
    const last = competing.findLast(isServable)
    return competing.find(each => isServable(each) && each.sourceIndex === last?.sourceIndex)
  }
}

function isServable(candidate: Candidate): boolean {
  return candidate.live !== undefined
}

function byPrecedence(a: Candidate, b: Candidate): number {
  return a.sourceIndex - b.sourceIndex || compareText(a.entry.location, b.entry.location)
}
