import { toMessage } from '../errors.ts'
import type { Logger } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceContents, SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { AdmissionPolicy, AdmissionVerdict, FolderPlace, StandingDecision } from './admission.ts'
import type { Candidate, FolderSeat, HeldRevision, Standing } from './candidate.ts'
import type { DecisionMemory } from './decision-memory.ts'
import { type FolderOnDisk, folderOf } from './folder-path.ts'
import { type LastGood, NOTHING_SERVED, type ServedRevisions } from './last-good.ts'
import type { FreshEntry, MovedFolder } from './pair-candidates.ts'
import type { SourceSlot } from './source-slot.ts'

/** The values of `InvalidPolicy`. */
export const INVALID_POLICIES = ['keep-last-good', 'drop'] as const

/** What to serve when the newest text is broken: the last good revision, or nothing. */
export type InvalidPolicy = (typeof INVALID_POLICIES)[number]

export interface CandidateBuilderOptions {
  readonly store: SkillStore
  readonly lastGood: LastGood
  readonly memory: DecisionMemory
  readonly admission: AdmissionPolicy
  readonly onInvalid: InvalidPolicy
  /** Returns the folder of a skill; `undefined` if no source has this folder. */
  readonly findFolder: (place: FolderPlace) => FolderOnDisk | undefined
  /** Diagnostics that other modules reported about served skills, for example about their scripts. */
  readonly remarks: WeakMap<Skill, readonly Diagnostic[]>
  readonly logger: Logger
}

/** The reading of a revision that is not the newest one. */
export interface EarlierReading {
  /** Identity of the conversation that reads. */
  readonly conversation?: string | undefined
  /** True if only a stored state says that the conversation saw the revision. */
  readonly isClaimed: boolean
}

/** The results of `restore`, by location. */
export interface RestoredSkills {
  readonly skills: Map<string, Skill | undefined>
  /** The notes about folders that this process has not shown before. */
  readonly served: Map<string, ServedRevisions>
}

/** Decides which revision of each folder may be served: the newest, the pinned or the last good revision. */
export class CandidateBuilder {
  readonly #options: CandidateBuilderOptions
  readonly #lastGood: LastGood

  constructor(options: CandidateBuilderOptions) {
    this.#options = options
    this.#lastGood = options.lastGood
  }

  /** Reads decisions that other processes have made. */
  refresh(): void {
    try {
      this.#options.admission.refresh?.()
    } catch (error) {
      this.#options.logger.error('the decisions of other processes could not be read', { error })
    }
  }

  /** Reports to the admission policy that contents of a source were shown. */
  noteShown(origin: string): void {
    try {
      this.#options.admission.shown?.(origin)
    } catch (error) {
      this.#options.logger.error('the admission policy failed', { origin, error })
    }
  }

  /**
   * Finds the folders whose decisions were recorded at another path, from which the folder is gone: it was moved while
   * no process watched it.
   */
  findMissedMoves(
    { origin }: SourceSlot,
    { entries }: SourceContents,
    fresh: readonly FreshEntry[],
  ): readonly MovedFolder[] {
    return fresh.flatMap(({ entry: { identity, location: to }, former }) => {
      if (former !== undefined || identity === undefined) return []
      const from = this.#locate(origin, identity)
      if (from === undefined || from === to) return []
      // A link to the folder has the same identity.
      const isStillThere = entries.some(each => each.location === from && each.identity === identity)
      return isStillThere ? [] : [{ identity, from, to }]
    })
  }

  #locate(origin: string, identity: string): string | undefined {
    const { admission, logger } = this.#options
    try {
      return admission.locate?.(origin, identity)
    } catch (error) {
      logger.error('the admission policy failed', { origin, error })
      return undefined
    }
  }

  /**
   * Moves the notes and decisions about moved folders to the new paths. Two folders may swap paths. Another process
   * that shares the store may already have moved these notes and decisions.
   */
  async move(slot: SourceSlot, moves: readonly MovedFolder[]): Promise<void> {
    const { memory, admission, logger } = this.#options
    const { origin } = slot
    const targets = new Set(moves.map(({ to }) => to))
    memory.look(origin)
    const served = moves.map(({ from, former }) => former?.folder.served ?? this.#lastGood.find(origin, from))
    for (const [index, { from, to }] of moves.entries()) {
      this.#lastGood.remember(origin, to, served[index] ?? NOTHING_SERVED)
      if (targets.has(from)) continue
      this.#lastGood.remember(origin, from, NOTHING_SERVED)
      this.#lastGood.keepPinned(origin, from, undefined)
    }
    for (const { from, to, former } of moves) if (former?.isLost) memory.move(origin, from, to)
    try {
      const decided = moves.map(({ identity, from, to }) => ({ identity, from, to }))
      await admission.moved?.(origin, decided)
    } catch (error) {
      logger.error('the decisions about moved folders could not be moved', { origin, error })
      for (const { from, to } of moves) memory.move(origin, from, to)
      return
    }
    const lost = new Set(moves.flatMap(({ to, former }) => (former?.isLost ? to : [])))
    for (const { from, to } of moves)
      for (const location of [from, to])
        if (!lost.has(location) && admission.standing?.({ origin, location }) === undefined)
          memory.forget({ origin, location })
  }

  /**
   * Looks up stored revisions that may be served instead of the newest text: pinned, approved, or served by an earlier
   * process. `found.skills` gets each location that was looked up, even if no skill was found.
   */
  async restore(
    slot: SourceSlot,
    fresh: readonly FreshEntry[],
    { skills: restored, served: notes }: RestoredSkills,
  ): Promise<void> {
    this.#options.memory.look(slot.origin)
    for (const { entry, old, former, approved } of fresh) {
      const standing = this.#askStanding(slot, entry.location)
      const pinned = standing?.pinned?.revision
      const live = this.#findLive(slot, entry, { old, former }, standing)
      if (pinned !== undefined) {
        const known = [entry.skill, live].find(skill => skill?.revision === pinned)
        const skill = known ?? (await this.#lastGood.readRevision(slot, entry, pinned))
        if (skill !== undefined) {
          restored.set(entry.location, skill)
          continue
        }
        restored.set(entry.location, live)
      }
      if (entry.skill === undefined && this.#options.onInvalid === 'drop') continue
      if (approved !== undefined && live?.revision !== approved && pinned === undefined) {
        const skill = await this.#findApproved(slot, entry, live, approved)
        if (skill !== undefined) restored.set(entry.location, skill)
      }
      if (live !== undefined) continue
      // Prefer the served revisions in memory to the note in the store, because another process may be writing the
      // note at this moment.
      const known = former?.folder.served
      const served = known?.last === undefined ? this.#lastGood.find(slot.origin, entry.location) : known
      if (former === undefined) notes.set(entry.location, served)
      const isNewest = pinned === undefined && [undefined, entry.skill?.revision].includes(served.last)
      if (isNewest && this.#isAdmitted(slot, entry, entry.skill, undefined)) continue
      const approvals = standing?.approved ?? []
      restored.set(entry.location, await this.#findServable(slot, entry, served, approvals))
    }
  }

  /**
   * Decides about a folder, using the results of `restore`. If a newer decision invalidated these results, returns
   * `undefined` and changes nothing. The caller must then call `restore` again.
   */
  build(slot: SourceSlot, fresh: FreshEntry, restored: RestoredSkills): Candidate | undefined {
    const { entry, old, former } = fresh
    const { store, onInvalid } = this.#options
    const decision = this.#askStanding(slot, entry.location)
    const lastGood = restored.skills.get(entry.location) ?? this.#findLive(slot, entry, fresh, decision)
    let live = entry.skill === undefined && onInvalid === 'drop' ? undefined : lastGood
    let held: HeldRevision | undefined
    if (entry.skill !== undefined) {
      const verdict = this.#askAdmission(slot, entry, entry.skill, lastGood)
      if (verdict.kind === 'hold') {
        const { kind: _, ...rest } = verdict
        held = rest
      } else live = isSameForReaders(lastGood, entry.skill) ? lastGood : entry.skill
    }
    const standing = toStanding(decision)
    if (standing?.kind === 'pinned') live = lastGood
    if (standing?.kind === 'disabled') live = undefined
    const isMissing = standing?.kind === 'pinned' ? live?.revision !== standing.revision : live === undefined
    const isDropped = standing?.kind === 'disabled' || (entry.skill === undefined && onInvalid === 'drop')
    if (isMissing && !isDropped && !restored.skills.has(entry.location)) return undefined
    // While a folder is disabled or pinned, its note keeps the revision that was served before the decision. That
    // revision is served again after the decision is withdrawn.
    const folder = this.#toSeat(slot, fresh, restored)
    if ((live !== old?.live || former !== old) && standing === undefined) {
      const before = folder.served
      folder.served = toServed(before, live?.revision)
      // A new `FolderSeat` was read from the note of the folder, so the note needs no update. Skipping the update
      // saves two reads of the store per folder at each start.
      if (former !== undefined || folder.served !== before)
        this.#lastGood.remember(slot.origin, entry.location, folder.served)
    }
    const pinned = standing?.kind === 'pinned' ? live?.revision : undefined
    if (pinned !== undefined || former?.standing?.kind === 'pinned')
      this.#lastGood.keepPinned(slot.origin, entry.location, pinned)
    const { index: sourceIndex, label: source, trust } = slot
    const remarks = live === undefined ? [] : (this.#options.remarks.get(live) ?? [])
    const isLost = decision?.isLost === true
    const candidate = {
      entry,
      folder,
      live,
      held,
      standing,
      isLost,
      remarks,
      sourceIndex,
      source,
      trust,
    }
    for (const revision of revisionsOf(candidate)) store.retain(revision)
    if (old !== undefined) for (const revision of revisionsOf(old)) store.release(revision)
    return candidate
  }

  /**
   * Returns true if a conversation may read a revision of a folder now. A revision that is only claimed to belong to the
   * folder must be known to have been served or approved there.
   */
  isReadable(slot: SourceSlot, candidate: Candidate, skill: Skill, reading: EarlierReading): boolean {
    const { entry, folder, live } = candidate
    const standing = this.#askStanding(slot, entry.location)
    const known = [live?.revision, folder.served.last, folder.served.earlier, ...(standing?.approved ?? [])]
    if (reading.isClaimed && !known.includes(skill.revision)) return false
    if (standing?.isRevoked?.(skill.revision) === true) return false
    // The revision was live, so the policy is asked whether it may stay live.
    const verdict = this.#askAdmission(slot, entry, skill, skill)
    if (verdict.kind === 'admit') return true
    return verdict.conversation !== undefined && verdict.conversation === reading.conversation
  }

  /** Returns true if a revision of a folder is approved. */
  isApproved(place: FolderPlace): boolean {
    try {
      return (this.#options.admission.standing?.(place)?.approved ?? []).length > 0
    } catch {
      return false // the next decision about the folder logs the failure
    }
  }

  #toSeat({ origin }: SourceSlot, { entry, former }: FreshEntry, { served }: RestoredSkills): FolderSeat {
    const { location } = entry
    if (former === undefined)
      return { location, served: served.get(location) ?? this.#lastGood.find(origin, location) }
    former.folder.location = location
    return former.folder
  }

  /** Removes the notes of a deleted folder. */
  forget(slot: SourceSlot, candidate: Candidate): void {
    for (const revision of revisionsOf(candidate)) this.#options.store.release(revision)
    this.#lastGood.remember(slot.origin, candidate.entry.location, NOTHING_SERVED)
  }

  /** Returns the revision that is live now, if it may stay live. */
  #findLive(
    slot: SourceSlot,
    entry: SourceEntry,
    { old, former }: Pick<FreshEntry, 'old' | 'former'>,
    standing: StandingDecision | undefined,
  ): Skill | undefined {
    // A folder with a new path needs a new `Skill` object.
    const live = former === old ? old?.live : undefined
    if (live === undefined || standing?.isRevoked?.(live.revision) === true) return undefined
    // The pin overrode the admission policy, so the policy is asked again after the pin is removed.
    const wasPinned = old?.standing?.kind === 'pinned' && standing?.pinned === undefined
    return wasPinned && !this.#isAdmitted(slot, entry, live, undefined) ? undefined : live
  }

  /** If a newer text still waits for an approval, returns the revision that was just approved. */
  async #findApproved(
    slot: SourceSlot,
    entry: SourceEntry,
    live: Skill | undefined,
    approved: Digest,
  ): Promise<Skill | undefined> {
    if (this.#isAdmitted(slot, entry, entry.skill, live)) return undefined
    const skill = await this.#lastGood.readRevision(slot, entry, approved)
    return this.#isAdmitted(slot, entry, skill, live) ? skill : undefined
  }

  /**
   * Returns the last served revision of a folder if the policy admits that revision, and otherwise an approved
   * revision. The policy may refuse the last served revision if another runtime served that revision under a different
   * policy.
   */
  async #findServable(
    slot: SourceSlot,
    entry: SourceEntry,
    { last: revision, earlier }: ServedRevisions,
    approved: readonly Digest[],
  ): Promise<Skill | undefined> {
    const last = revision === undefined ? undefined : await this.#lastGood.readRevision(slot, entry, revision)
    if (last !== undefined && this.#isAdmitted(slot, entry, last, last)) return last
    for (const revision of approved) {
      const skill = await this.#lastGood.readRevision(slot, entry, revision)
      if (skill !== undefined) return skill
    }
    // If the last served revision was rejected, try the revision that was served before the rejected revision.
    const skill = earlier === undefined ? undefined : await this.#lastGood.readRevision(slot, entry, earlier)
    return this.#isAdmitted(slot, entry, skill, skill) ? skill : undefined
  }

  #askStanding({ origin }: SourceSlot, location: string): StandingDecision | undefined {
    const { admission, memory, logger } = this.#options
    const place = { origin, location }
    try {
      const decision = admission.standing?.(place)
      if (decision === undefined) return memory.recall(place)
      if (admission.isLasting === true) memory.note(place, decision)
      return decision
    } catch (error) {
      logger.error('the admission policy failed', { location, error })
      return memory.recall(place)
    }
  }

  #isAdmitted(
    slot: SourceSlot,
    entry: SourceEntry,
    skill: Skill | undefined,
    live: Skill | undefined,
  ): boolean {
    return skill !== undefined && this.#askAdmission(slot, entry, skill, live).kind === 'admit'
  }

  /** Asks the admission policy. If the policy throws, the skill is held, and other skills are not affected. */
  #askAdmission(
    slot: SourceSlot,
    entry: SourceEntry,
    skill: Skill,
    live: Skill | undefined,
  ): AdmissionVerdict {
    const { admission, logger, findFolder } = this.#options
    const { location } = entry
    if (this.#askStanding(slot, location)?.isLost === true)
      return this.#lastGood.find(slot.origin, location).last === skill.revision ? ADMIT : HOLD_LOST
    try {
      const { origin, trust, isFirst = false } = slot
      const isPresent = (other: string): boolean => slot.isPresent(other)
      const folder = folderOf({ origin, location }, entry)
      return admission.admit({ skill, live, origin, trust, isFirst, folder, isPresent, findFolder })
    } catch (error) {
      logger.error('the admission policy failed', { skill: skill.name, error })
      return { kind: 'hold', reason: `the admission policy failed: ${toMessage(error)}` }
    }
  }
}

const ADMIT: AdmissionVerdict = Object.freeze({ kind: 'admit' })
const HOLD_LOST: AdmissionVerdict = Object.freeze({
  kind: 'hold',
  reason: 'the decisions about this skill are lost, so its changes wait',
})

/**
 * Records `now` as the last served revision. Returns the object `before` if `now` already was the last served revision.
 */
function toServed(before: ServedRevisions, now: Digest | undefined): ServedRevisions {
  if (now === undefined) return NOTHING_SERVED
  return before.last === now ? before : { last: now, earlier: before.last }
}

/** Returns the revisions that must stay readable: the live one, and the newest one, which may be approved later. */
function revisionsOf({ live, entry }: Candidate): readonly Digest[] {
  return [live, entry.skill].flatMap(skill => skill?.revision ?? [])
}

function toStanding(decision: StandingDecision | undefined): Standing | undefined {
  if (decision?.disabled !== undefined) return { kind: 'disabled', reason: decision.disabled }
  return decision?.pinned === undefined ? undefined : { kind: 'pinned', ...decision.pinned }
}

/**
 * True if reading a skill again found no change. The caller then keeps the old `Skill` object, so that caches stay
 * valid.
 */
function isSameForReaders(a: Skill | undefined, b: Skill): boolean {
  return (
    a !== undefined &&
    a.revision === b.revision &&
    a.name === b.name &&
    a.directory === b.directory &&
    a.skillFile === b.skillFile &&
    JSON.stringify(a.diagnostics) === JSON.stringify(b.diagnostics)
  )
}
