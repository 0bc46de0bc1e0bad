import { type Candidate, nameOf, toProblemReport, toReport } from './candidate.ts'
import type { SkillReport } from './generation.ts'
import type { NameIndex } from './name-index.ts'

/** What names and folders had to do with each other before a commit, so that it can be said afterwards what is told anew. */
export class ReportChanges {
  readonly #names: NameIndex
  /** Who served each name that the commit is about. */
  readonly was: ReadonlyMap<string, Candidate | undefined>
  /** Those of them that any folder had. */
  readonly #taken: ReadonlySet<string>
  /** The reports of folders with something to tell, by their place in the source. */
  readonly #problems: ReadonlyMap<string, SkillReport>

  /** Made before the index is changed: of the folders that go or are replaced, and of those that come. */
  constructor(names: NameIndex, before: readonly Candidate[], after: readonly Candidate[]) {
    this.#names = names
    const about = [...new Set([...before, ...after].map(nameOf))]
    this.was = new Map(about.map(name => [name, names.winner(name)]))
    this.#taken = new Set(about.filter(name => names.competing(name).length > 0))
    this.#problems = new Map(
      before.flatMap(candidate => {
        const report = toProblemReport(candidate, names.standing(nameOf(candidate)))
        return report === undefined ? [] : [[candidate.entry.location, report] as const]
      }),
    )
  }

  /** The report of a folder that was decided anew, if its problems changed. */
  find(candidate: Candidate): SkillReport | undefined {
    const standing = this.#names.standing(nameOf(candidate))
    const old = this.#problems.get(candidate.entry.location)
    const report = toProblemReport(candidate, standing)
    if (old === undefined && report === undefined) return undefined
    return JSON.stringify(old) === JSON.stringify(report)
      ? undefined
      : (report ?? toReport(candidate, standing))
  }

  /** Folders that have another report because of a name: their cover, or a name like theirs, came or went. */
  *affected(name: string): Generator<Candidate> {
    const before = this.was.get(name)
    const competing = this.#names.competing(name)
    if (this.#taken.has(name) !== competing.length > 0) yield* this.#names.looking(name)
    if (competing.length < 2 && before === undefined) return
    if (this.#names.winner(name) !== before) yield* competing
  }

  report(candidate: Candidate): SkillReport {
    return toReport(candidate, this.#names.standing(nameOf(candidate)))
  }
}
