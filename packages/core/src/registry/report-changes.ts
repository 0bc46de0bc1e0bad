import { type Candidate, nameOf, toProblemReport, toReport } from './candidate.ts'
import type { SkillReport } from './generation.ts'
import type { NameIndex } from './name-index.ts'

/** Remembers the state of names and folders before a commit, to find the reports that the commit changed. */
export class ReportChanges {
  readonly #names: NameIndex
  /** The candidate that served each affected name before the commit. */
  readonly was: ReadonlyMap<string, Candidate | undefined>
  /** The affected names that at least one folder used before the commit. */
  readonly #taken: ReadonlySet<string>
  /** The reports of all folders that had problems before the commit, by location. */
  readonly #problems: ReadonlyMap<string, SkillReport>

  /**
   * Create this object before the name index changes. `before` contains the removed and replaced candidates. `after`
   * contains the new candidates.
   */
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

  /** Returns the report of a folder that the commit decided about, if the problems of the folder changed. */
  find(candidate: Candidate): SkillReport | undefined {
    const standing = this.#names.standing(nameOf(candidate))
    const old = this.#problems.get(candidate.entry.location)
    const report = toProblemReport(candidate, standing)
    if (old === undefined && report === undefined) return undefined
    return JSON.stringify(old) === JSON.stringify(report)
      ? undefined
      : (report ?? toReport(candidate, standing))
  }

  /**
   * Yields the folders whose reports may have changed because a name was first used, is no longer used, or has a new
   * winner.
   */
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
