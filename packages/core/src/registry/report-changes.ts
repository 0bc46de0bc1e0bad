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

  /** Reports of the folders whose problems changed: decided anew, or their cover or a name like theirs came or went. */
  find(after: readonly Candidate[]): SkillReport[] {
    const reports: SkillReport[] = []
    for (const candidate of after) {
      const standing = this.#names.standing(nameOf(candidate))
      const old = this.#problems.get(candidate.entry.location)
      const report = toProblemReport(candidate, standing)
      if (JSON.stringify(old) !== JSON.stringify(report))
        reports.push(report ?? toReport(candidate, standing))
    }
    const told = new Set(after)
    for (const candidate of this.#affected()) {
      if (told.has(candidate)) continue
      told.add(candidate)
      reports.push(toReport(candidate, this.#names.standing(nameOf(candidate))))
    }
    return reports
  }

  /** Folders about which nothing was decided, and which have another report all the same. */
  *#affected(): Generator<Candidate> {
    for (const [name, before] of this.was) {
      const competing = this.#names.competing(name)
      if (this.#taken.has(name) !== competing.length > 0) yield* this.#names.looking(name)
      if (competing.length < 2 && before === undefined) continue
      if (this.#names.winner(name) !== before) yield* competing
    }
  }
}
