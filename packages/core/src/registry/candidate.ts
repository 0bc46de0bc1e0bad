import { compareText } from '../skill/compare.ts'
import { isError } from '../skill/diagnostic.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { DuplicatePolicy } from './duplicate-policy.ts'
import type { SkillReport, SkillStatus } from './generation.ts'

/** What the registry has decided about one folder of one source. */
export interface Candidate {
  readonly entry: SourceEntry
  /** The revision that may be served: the newest when it is whole and admitted, else the last good one. */
  readonly live: Skill | undefined
  /** Why the newest revision is not live although it is whole. */
  readonly heldReason: string | undefined
  readonly sourceIndex: number
  readonly source: string
  /** Whether being shadowed is an error and not a warning. */
  readonly refusesDuplicates: boolean
}

/** The name for which a folder competes. */
export function nameOf(candidate: Candidate): string {
  return candidate.live?.name ?? candidate.entry.name
}

/** The order of two folders of one source: the folder itself before a link to it, then by path. */
export function byPlace(a: Candidate, b: Candidate): number {
  return (
    Number(a.entry.isLinked ?? false) - Number(b.entry.isLinked ?? false) ||
    compareText(a.entry.location, b.entry.location)
  )
}

/** `winner` is the candidate whose skill is served under the name. */
export function toReport(candidate: Candidate, winner: Candidate | undefined): SkillReport {
  const { entry, live, heldReason } = candidate
  const newest = entry.skill ?? live
  const isServed = winner === candidate
  const status = toStatus(candidate, isServed)
  const diagnostics = [...entry.diagnostics]
  if (heldReason !== undefined) {
    diagnostics.push({
      code: 'REVISION_HELD',
      severity: 'warning',
      message: `revision ${entry.skill?.revision} is held: ${heldReason}`,
      fix: 'approve the revision to make it live',
    })
  }
  if (status === 'shadowed' && winner !== undefined) {
    diagnostics.push({
      code: 'SKILL_SHADOWED',
      severity: candidate.refusesDuplicates ? 'error' : 'warning',
      message: `${describePlace(candidate)} is shadowed by ${describePlace(winner)}, which has the same name and precedence over it`,
      fix: 'rename one of the two, or remove it',
    })
  }
  return Object.freeze({
    name: nameOf(candidate),
    description: newest?.description ?? '',
    source: candidate.source,
    location: entry.location,
    ...(entry.directory === undefined ? {} : { directory: entry.directory }),
    ...(entry.skill === undefined ? {} : { revision: entry.skill.revision }),
    ...(isServed && live !== undefined ? { serving: live.revision } : {}),
    status,
    diagnostics: Object.freeze(diagnostics),
  })
}

/** The report of a folder with anything to tell; cheap for the many that have nothing. */
export function toProblemReport(
  candidate: Candidate,
  winner: Candidate | undefined,
): SkillReport | undefined {
  if (toStatus(candidate, winner === candidate) === 'ok') return undefined
  return toReport(candidate, winner)
}

function toStatus(candidate: Candidate, isServed: boolean): SkillStatus {
  const { entry, heldReason, live } = candidate
  if (entry.skill === undefined || entry.diagnostics.some(isError)) return 'broken'
  if (heldReason !== undefined) return 'pending'
  if (live !== undefined && !isServed) return 'shadowed'
  return entry.diagnostics.some(diagnostic => diagnostic.severity === 'warning') ? 'warning' : 'ok'
}

function describePlace({ source, entry }: Candidate): string {
  return JSON.stringify(entry.directory ?? (entry.location === '' ? source : `${source}/${entry.location}`))
}

/** Reports of all folders of all sources, sorted by name and then by precedence. */
export function createReports(
  slots: readonly (readonly Candidate[])[],
  skills: readonly Skill[],
  policy: DuplicatePolicy,
): SkillReport[] {
  const servedSkills = new Set(skills)
  const all = slots.flat()
  const winners = new Map<string, Candidate>()
  for (const candidate of all) {
    if (candidate.live !== undefined && servedSkills.has(candidate.live))
      winners.set(nameOf(candidate), candidate)
  }
  const direction = policy === 'last-wins' ? -1 : 1
  return all
    .toSorted(
      (a, b) =>
        compareText(nameOf(a), nameOf(b)) || direction * (a.sourceIndex - b.sourceIndex) || byPlace(a, b),
    )
    .map(candidate => toReport(candidate, winners.get(nameOf(candidate))))
}
