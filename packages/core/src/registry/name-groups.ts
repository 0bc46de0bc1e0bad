import { applySorted, binarySearch, type SortedChange } from '../skill/compare.ts'
import { LookalikeNames } from '../skill/lookalike-names.ts'
import type { Skill } from '../skill/skill.ts'
import {
  byPrecedence,
  type Candidate,
  type NameGroup,
  nameOf,
  toProblemReport,
  toReport,
} from './candidate.ts'
import type { DuplicateChooser, DuplicatePolicy } from './duplicate-policy.ts'
import type { GenerationDigest } from './generation-digest.ts'
import { type SkillChange, sortChanges, toChange } from './registry-update.ts'
import type { SkillReport } from './skill-report.ts'
import type { Slices } from './slices.ts'

/** A name before and after a commit. */
export interface GroupChange {
  readonly before: NameGroup | undefined
  readonly after: NameGroup | undefined
}

/** Finds a group in a list that is sorted by name. */
export function findGroup(groups: readonly NameGroup[], name: string): NameGroup | undefined {
  return groups[binarySearch(groups, name, group => group.name)]
}

/**
 * Groups the folders of all sources by their names. A commit replaces the groups whose folders or lookalikes changed.
 * Groups never change, so generations can refer to them.
 */
export class NameGroups {
  readonly #policy: DuplicatePolicy
  readonly #onChooserError: (error: unknown) => void
  readonly #lookalikes = new LookalikeNames()
  /** Sorted by name. The array is replaced instead of modified. */
  #sorted: readonly NameGroup[] = []

  /**
   * If a chooser throws or returns a skill that is not a candidate, `onChooserError` receives the error and the first
   * candidate is served.
   */
  constructor(policy: DuplicatePolicy, onChooserError: (error: unknown) => void) {
    this.#policy = policy
    this.#onChooserError = onChooserError
  }

  get sorted(): readonly NameGroup[] {
    return this.#sorted
  }

  /** Replaces folders. Returns the groups that changed. */
  async replace(
    before: readonly Candidate[],
    after: readonly Candidate[],
    slices: Slices,
  ): Promise<ReadonlyMap<string, GroupChange>> {
    const gone = new Set(before)
    const folders = new Map<string, readonly Candidate[]>()
    const look = (name: string): readonly Candidate[] =>
      folders.get(name) ??
      (findGroup(this.#sorted, name)?.candidates ?? []).filter(candidate => !gone.has(candidate))
    await slices.each(before, candidate => folders.set(nameOf(candidate), look(nameOf(candidate))))
    await slices.each(after, candidate =>
      folders.set(nameOf(candidate), [...look(nameOf(candidate)), candidate]),
    )
    await slices.each([...folders], ([name, candidates]) => {
      const isThere = candidates.length > 0
      if (isThere === (findGroup(this.#sorted, name) !== undefined)) return
      if (isThere) this.#lookalikes.add(name)
      else this.#lookalikes.remove(name)
      for (const other of this.#lookalikes.like(name)) folders.set(other, look(other))
    })
    const changes = new Map<string, GroupChange>()
    await slices.each([...folders], ([name, candidates]) => {
      changes.set(name, { before: findGroup(this.#sorted, name), after: this.#toGroup(name, candidates) })
    })
    const replaced = Array.from(changes, ([key, { after: item }]) => ({ key, item }))
    this.#sorted = applySorted(this.#sorted, replaced, group => group.name)
    return changes
  }

  #toGroup(name: string, folders: readonly Candidate[]): NameGroup | undefined {
    if (folders.length === 0) return undefined
    const direction = directionOf(this.#policy)
    const candidates = folders.toSorted((a, b) => byPrecedence(a, b, direction))
    return {
      name,
      candidates,
      winner: this.#findWinner(candidates),
      lookalikes: this.#lookalikes.like(name),
      refusesDuplicates: this.#policy === 'error',
    }
  }

  #findWinner(candidates: readonly Candidate[]): Candidate | undefined {
    const servable = candidates.filter(({ live }) => live !== undefined)
    const [first] = servable
    if (typeof this.#policy !== 'function' || first === undefined) return first
    // The chooser gets only skills of equal trust, so that no reviewed source replaces a trusted one.
    return this.#choose(
      this.#policy,
      servable.filter(({ trust }) => trust === first.trust),
    )
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

/** Returns 1 if earlier sources have precedence, -1 if later sources have precedence. */
function directionOf(policy: DuplicatePolicy): 1 | -1 {
  return policy === 'last-wins' ? -1 : 1
}

/** The changes that readers will see. */
export interface ServedChanges {
  /** Maps each changed name to the skill that is served now, if any. */
  readonly served: readonly SortedChange<Skill>[]
  readonly changes: readonly SkillChange[]
}

/** Returns the changes that readers will see, and updates the digest of the served skills. */
export async function findServedChanges(
  changed: ReadonlyMap<string, GroupChange>,
  slices: Slices,
  digest: GenerationDigest,
): Promise<ServedChanges> {
  const served: SortedChange<Skill>[] = []
  const changes: SkillChange[] = []
  await slices.each([...changed], ([name, { before, after }]) => {
    const [old, now] = [before?.winner?.live, after?.winner?.live]
    if (old === now) return
    served.push({ key: name, item: now })
    digest.put(name, now)
    const change = toChange(name, old, now)
    if (change !== undefined) changes.push(change)
  })
  return { served, changes: sortChanges(changes) }
}

/** Returns the changed reports of the folders in some groups. Folders that had no problem and have none are left out. */
export async function findChangedReports(
  changes: readonly GroupChange[],
  slices: Slices,
): Promise<readonly SkillReport[]> {
  const keyOf = ({ source, entry }: Candidate): string => `${source}\0${entry.location}`
  const problems = new Map<string, SkillReport>()
  const reports: SkillReport[] = []
  await slices.each(changes, ({ before }) => {
    for (const candidate of before?.candidates ?? []) {
      const report = toProblemReport(candidate, before as NameGroup)
      if (report !== undefined) problems.set(keyOf(candidate), report)
    }
  })
  await slices.each(changes, ({ after }) => {
    for (const candidate of after?.candidates ?? []) {
      const old = problems.get(keyOf(candidate))
      const report = toProblemReport(candidate, after as NameGroup)
      if (JSON.stringify(old) !== JSON.stringify(report))
        reports.push(report ?? toReport(candidate, after as NameGroup))
    }
  })
  return reports
}

/**
 * Finds the unapproved skills that a conversation wrote, among the folders with such skills. Each of these skills is live
 * in that conversation only, unless a skill with higher precedence has the same name.
 */
export function findWritten(
  groups: readonly NameGroup[],
  written: readonly Candidate[],
  policy: DuplicatePolicy,
  conversation: string,
): readonly Skill[] {
  return written.flatMap(candidate => {
    const { held, entry } = candidate
    if (held?.conversation !== conversation || entry.skill === undefined) return []
    const winner = findGroup(groups, entry.skill.name)?.winner
    const comesFirst =
      winner === undefined || winner === candidate || byPrecedence(candidate, winner, directionOf(policy)) < 0
    return comesFirst ? [entry.skill] : []
  })
}
