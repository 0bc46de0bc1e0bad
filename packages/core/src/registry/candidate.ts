import { defined } from '../defined.ts'
import { quote, quoteWord } from '../quote.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import { shortDigest } from '../skill/digest.ts'
import { describeLookalikes } from '../skill/lookalike-names.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { AdmissionVerdict } from './admission.ts'
import { compareFolders, describeFolderOrder } from './folder-order.ts'
import type { ServedRevisions } from './last-good.ts'
import { type SkillCopy, type SkillReport, type SkillStatus, targetOf } from './skill-report.ts'

/**
 * The state that a folder keeps when its path or its text changes. A folder keeps the same `FolderSeat` until the
 * folder is removed.
 */
export interface FolderSeat {
  /** The current location of the folder. */
  location: string
  /**
   * The revisions that the folder served last. These revisions stay noted while another revision is pinned or no
   * revision is served.
   */
  served: ServedRevisions
}

/** The decision of the registry about one folder of one source. */
export interface Candidate {
  readonly entry: SourceEntry
  readonly folder: FolderSeat
  /** The revision that may be served: the newest revision if it is valid and admitted, else the last good revision. */
  readonly live: Skill | undefined
  /** The reason why the newest revision is not live although it is valid. */
  readonly held: HeldRevision | undefined
  /** Why the folder is disabled or pinned. */
  readonly standing: Standing | undefined
  /** True if decisions about the folder are lost. */
  readonly isLost: boolean
  /** Diagnostics that other modules reported about the live revision, for example about a script that does not load. */
  readonly remarks: readonly Diagnostic[]
  readonly sourceIndex: number
  readonly source: string
  readonly trust: SourceTrust
}

export type HeldRevision = Omit<Extract<AdmissionVerdict, { kind: 'hold' }>, 'kind'>

export type Standing =
  | { readonly kind: 'disabled'; readonly reason: string }
  | { readonly kind: 'pinned'; readonly revision: Digest; readonly reason: string }

/** Returns the skill name under which a folder may be served. */
export function nameOf(candidate: Candidate): string {
  return candidate.live?.name ?? candidate.entry.name
}

/**
 * Orders folders that compete for the same name. Folders of trusted sources come before those of reviewed sources, so
 * that a fetched skill never replaces a trusted skill. Between sources of equal trust, the order of sources decides.
 * Within one source, `compareFolders()` decides.
 */
export function byPrecedence(a: Candidate, b: Candidate, direction: 1 | -1 = 1): number {
  return (
    Number(a.trust === 'review') - Number(b.trust === 'review') ||
    direction * (a.sourceIndex - b.sourceIndex) ||
    compareFolders(a.entry, b.entry, nameOf(a))
  )
}

/** The folders with one name, and the one that is served. */
export interface NameGroup {
  readonly name: string
  /** In order of precedence. */
  readonly candidates: readonly Candidate[]
  /** The candidate whose skill is served under the name. */
  readonly winner: Candidate | undefined
  /** Other names that look like this name. */
  readonly lookalikes: readonly string[]
  /** True if a shadowed skill is reported as an error instead of a warning. */
  readonly refusesDuplicates: boolean
}

/** Creates the reports of all folders with one name, by precedence. Folders with the same files share one report. */
export function toReports(group: NameGroup): readonly SkillReport[] {
  const { candidates, winner } = group
  const copies = candidates.filter(each => each !== winner && isCopy(each, winner))
  const folders = candidates.filter(each => !copies.includes(each))
  return folders.map(each => toReport(each, group, each === winner ? copies : []))
}

export function toReport(
  candidate: Candidate,
  { winner, lookalikes, refusesDuplicates }: NameGroup,
  copies: readonly Candidate[] = [],
): SkillReport {
  const { entry, live } = candidate
  const newest = entry.skill ?? live
  const isServed = winner === candidate
  const status = toStatus(candidate, winner, lookalikes)
  const diagnostics = [...entry.diagnostics, ...candidate.remarks, ...describeDecision(candidate)]
  if (status === 'shadowed' && winner !== undefined) {
    diagnostics.push({
      code: 'SKILL_SHADOWED',
      severity: refusesDuplicates ? 'error' : 'warning',
      message: `${quoteFolder(candidate)} is shadowed by ${quoteFolder(winner)}, which has the same name and ${describeRule(candidate, winner)}`,
      fix: `address this skill as ${quote(describeTarget(candidate))}; rename it only if agents should see both`,
    })
  }
  if (lookalikes.length > 0) {
    diagnostics.push({
      code: 'NAME_LOOKALIKE',
      severity: 'warning',
      message: describeLookalikes(nameOf(candidate), lookalikes),
      path: entry.directory ?? describeTarget(candidate),
      fix: 'check which skill you mean, then rename or remove the other skill',
    })
  }
  return Object.freeze({
    name: nameOf(candidate),
    description: newest?.description ?? '',
    source: candidate.source,
    location: entry.location,
    ...defined({
      directory: entry.directory,
      revision: entry.skill?.revision,
      refused: entry.refused,
      serving: isServed ? live?.revision : undefined,
    }),
    status,
    ...(copies.length === 0 ? {} : { copies: Object.freeze(copies.map(toCopy)) }),
    diagnostics: Object.freeze(diagnostics),
  })
}

/**
 * Returns the report of a folder that has a problem. For a folder without problems, returns `undefined` and creates no
 * report, which saves time.
 */
export function toProblemReport(candidate: Candidate, group: NameGroup): SkillReport | undefined {
  const status = toStatus(candidate, group.winner, group.lookalikes)
  return status === 'ok' ? undefined : toReport(candidate, group)
}

function toCopy({ source, entry }: Candidate): SkillCopy {
  const { location, directory } = entry
  return { source, location, ...defined({ directory }) }
}

/**
 * True if the newest revision of a folder is live and equals the revision that the winner serves. Such a folder is an
 * exact copy. A second folder of the same source is no copy, because an edit in that folder would have no effect.
 */
function isCopy(candidate: Candidate, winner: Candidate | undefined): boolean {
  const { entry, live, held, standing } = candidate
  const isSecondFolder = winner?.sourceIndex === candidate.sourceIndex && entry.isLinked !== true
  return (
    live !== undefined &&
    !isSecondFolder &&
    winner?.live?.revision === live.revision &&
    entry.skill?.revision === live.revision &&
    held === undefined &&
    standing === undefined
  )
}

function toStatus(
  candidate: Candidate,
  winner: Candidate | undefined,
  lookalikes: readonly string[],
): SkillStatus {
  const { entry, held, live, standing } = candidate
  if (standing?.kind === 'disabled') return 'disabled'
  if (entry.skill === undefined || entry.diagnostics.some(isError)) return 'broken'
  if (standing?.kind === 'pinned') return 'pinned'
  if (held !== undefined) return held.isRejected === true ? 'rejected' : 'pending'
  if (live !== undefined && winner !== candidate && !isCopy(candidate, winner)) return 'shadowed'
  if (candidate.remarks.some(isError)) return 'broken'
  const isWarning = ({ severity }: Diagnostic): boolean => severity === 'warning'
  const isWarned =
    candidate.isLost ||
    lookalikes.length > 0 ||
    [entry.diagnostics, candidate.remarks].some(each => each.some(isWarning))
  return isWarned ? 'warning' : 'ok'
}

/** Returns diagnostics about the decisions that keep the newest text from going live. */
function describeDecision(candidate: Candidate): Diagnostic[] {
  const { entry, held, standing, live } = candidate
  const target = describeTarget(candidate)
  const word = quoteWord(target)
  const path = entry.directory ?? target
  const found: Diagnostic[] = []
  if (candidate.isLost) {
    found.push({
      code: 'DECISIONS_LOST',
      severity: 'warning',
      message: 'the decisions about this skill are lost; only the last served revision is served',
      path,
      fix: `review ${quote(target)} and decide again: approve, enable, pin or disable it`,
    })
  }
  if (standing?.kind === 'disabled') {
    found.push({
      code: 'SKILL_DISABLED',
      severity: 'info',
      message: `the skill is not served: ${standing.reason}`,
      path,
      fix: `read the reason first; only if it no longer applies: stoke enable ${word}`,
    })
  }
  if (standing?.kind === 'pinned') {
    const isThere = live?.revision === standing.revision
    const revision = shortDigest(standing.revision)
    found.push({
      code: isThere ? 'REVISION_PINNED' : 'REVISION_LOST',
      severity: isThere ? 'info' : 'warning',
      message: isThere
        ? `revision ${revision} is served regardless of newer revisions: ${standing.reason}`
        : `revision ${revision} is pinned but no longer stored; the last good revision is served`,
      path,
      fix: `review the newest revision first; only if that one may be served: stoke unpin ${word}`,
    })
  }
  if (held !== undefined && standing === undefined && entry.skill !== undefined) {
    found.push({
      code: 'REVISION_HELD',
      severity: 'warning',
      message: `revision ${shortDigest(entry.skill.revision)} is held: ${held.reason}`,
      path,
      fix: `review it: stoke diff ${word}; then approve it: stoke approve ${quoteWord(`${target}@${entry.skill.revision}`)}; or reject it: stoke reject ${word}`,
    })
  }
  return found
}

function describeRule(loser: Candidate, winner: Candidate): string {
  if (loser.trust === 'review' && winner.trust === 'auto') return 'is from a source that needs no review'
  if (loser.sourceIndex !== winner.sourceIndex)
    return `is from a source that ${winner.sourceIndex < loser.sourceIndex ? 'comes first' : 'was chosen over it'}`
  return describeFolderOrder(winner.entry, loser.entry, nameOf(winner))
}

function describeTarget(candidate: Candidate): string {
  const { source, entry } = candidate
  return targetOf({ source, name: nameOf(candidate), location: entry.location })
}

function quoteFolder({ source, entry }: Candidate): string {
  return quote(entry.directory ?? (entry.location === '' ? source : `${source}/${entry.location}`))
}
