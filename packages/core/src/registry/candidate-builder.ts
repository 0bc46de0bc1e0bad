import { toMessage } from '../errors.ts'
import type { Logger } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { AdmissionPolicy, AdmissionVerdict, StandingDecision } from './admission.ts'
import type { Candidate, HeldRevision, Standing } from './candidate.ts'
import type { DecisionMemory } from './decision-memory.ts'
import type { LastGood, LastGoodSource } from './last-good.ts'
import type { FreshEntry } from './pair-candidates.ts'

/** What a text that cannot be served does to its skill: the last good revision stays, or nothing is served. */
export type InvalidPolicy = 'keep-last-good' | 'drop'

export interface CandidateBuilderOptions {
  readonly store: SkillStore
  readonly lastGood: LastGood
  readonly memory: DecisionMemory
  readonly admission: AdmissionPolicy
  readonly onInvalid: InvalidPolicy
  /** Whether two folders of one name are a mistake. */
  readonly refusesDuplicates: boolean
  /** What others found about a skill that is served. */
  readonly remarksOn: (skill: Skill) => readonly Diagnostic[]
  readonly logger: Logger
}

/** What has to be known of the source of a folder. */
export interface CandidateSource extends LastGoodSource {
  /** Its place in the order of precedence. */
  readonly index: number
  readonly trust: 'auto' | 'review'
  /** Nothing of it was ever shown before; absent until that is known. */
  readonly isFirst: boolean | undefined
}

/** Decides what each folder would serve: its newest text, what is pinned, or what was good last. */
export class CandidateBuilder {
  readonly #options: CandidateBuilderOptions
  readonly #lastGood: LastGood

  constructor(options: CandidateBuilderOptions) {
    this.#options = options
    this.#lastGood = options.lastGood
  }

  /** Looks up what served a folder before this process knew it, what is pinned, and what may be served instead of the newest. */
  async restore(slot: CandidateSource, fresh: readonly FreshEntry[]): Promise<ReadonlyMap<string, Skill>> {
    const restored = new Map<string, Skill>()
    this.#options.memory.look(slot.origin)
    for (const { entry, old, moved } of fresh) {
      const standing = this.#askStanding(slot, entry.location)
      const pinned = standing?.pinned?.revision
      const known = [entry.skill, old?.live].find(skill => skill?.revision === pinned)
      if (pinned !== undefined) {
        const skill = known ?? (await this.#lastGood.readRevision(slot, entry, pinned))
        if (skill !== undefined) {
          restored.set(entry.location, skill)
          continue
        }
      }
      if (entry.skill === undefined && this.#options.onInvalid === 'drop') continue
      if (this.#findLive(slot, entry, old, standing) !== undefined) continue
      const isNewest = pinned === undefined && !this.#lastGood.isOther(slot, entry)
      if (isNewest && this.#isAdmitted(slot, entry, entry.skill, undefined)) continue
      const skill = await this.#findServable(slot, entry, moved, standing?.approved ?? [])
      if (skill !== undefined) restored.set(entry.location, skill)
    }
    return restored
  }

  /** What becomes of a folder, given what `restore` found. */
  build(slot: CandidateSource, { entry, old }: FreshEntry, restored: ReadonlyMap<string, Skill>): Candidate {
    const { store, onInvalid, refusesDuplicates, remarksOn } = this.#options
    const decision = this.#askStanding(slot, entry.location)
    const lastGood = this.#findLive(slot, entry, old, decision) ?? restored.get(entry.location)
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
    if (standing?.kind === 'pinned') live = restored.get(entry.location) ?? lastGood
    if (standing?.kind === 'disabled') live = undefined
    // What was served before it was disabled or pinned comes back afterwards.
    if (live !== old?.live && standing === undefined)
      this.#lastGood.remember(slot.origin, entry.location, live?.revision)
    const pinned = standing?.kind === 'pinned' ? live?.revision : undefined
    if (pinned !== undefined || old?.standing?.kind === 'pinned')
      this.#lastGood.keepPinned(slot.origin, entry.location, pinned)
    const { index: sourceIndex, label: source, trust } = slot
    const remarks = live === undefined ? [] : remarksOn(live)
    const isLost = decision?.isLost === true
    const candidate = {
      entry,
      live,
      held,
      standing,
      isLost,
      remarks,
      sourceIndex,
      source,
      trust,
      refusesDuplicates,
    }
    for (const revision of revisionsOf(candidate)) store.retain(revision)
    if (old !== undefined) for (const revision of revisionsOf(old)) store.release(revision)
    return candidate
  }

  /** The folder is gone. */
  forget(slot: CandidateSource, candidate: Candidate): void {
    for (const revision of revisionsOf(candidate)) this.#options.store.release(revision)
    this.#lastGood.remember(slot.origin, candidate.entry.location, undefined)
  }

  /** What a folder serves, if it may go on with that. */
  #findLive(
    slot: CandidateSource,
    entry: SourceEntry,
    old: Candidate | undefined,
    standing: StandingDecision | undefined,
  ): Skill | undefined {
    const live = old?.live
    if (live === undefined || standing?.isRevoked?.(live.revision) === true) return undefined
    // A pin served it whatever else held; without the pin that is asked again.
    const wasPinned = old?.standing?.kind === 'pinned' && standing?.pinned === undefined
    return wasPinned && !this.#isAdmitted(slot, entry, live, undefined) ? undefined : live
  }

  /**
   * What served a folder last, under the path that it had before, too; or else what somebody has approved: another runtime may
   * have served it by other rules.
   */
  async #findServable(
    slot: CandidateSource,
    entry: SourceEntry,
    moved: Candidate | undefined,
    approved: readonly Digest[],
  ): Promise<Skill | undefined> {
    const served = moved?.live?.revision
    const last =
      (await this.#lastGood.read(slot, entry)) ??
      (served === undefined ? undefined : await this.#lastGood.readRevision(slot, entry, served))
    if (last !== undefined && this.#isAdmitted(slot, entry, last, last)) return last
    for (const revision of approved) {
      const skill = await this.#lastGood.readRevision(slot, entry, revision)
      if (skill !== undefined) return skill
    }
    return undefined
  }

  #askStanding({ origin }: CandidateSource, location: string): StandingDecision | undefined {
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
    slot: CandidateSource,
    entry: SourceEntry,
    skill: Skill | undefined,
    live: Skill | undefined,
  ): boolean {
    return skill !== undefined && this.#askAdmission(slot, entry, skill, live).kind === 'admit'
  }

  /** A policy that fails has not admitted: the skill is held, and the others are decided all the same. */
  #askAdmission(
    slot: CandidateSource,
    { location }: SourceEntry,
    skill: Skill,
    live: Skill | undefined,
  ): AdmissionVerdict {
    const { admission, logger } = this.#options
    if (this.#askStanding(slot, location)?.isLost === true)
      return this.#lastGood.isLast(slot.origin, location, skill.revision) ? ADMIT : HOLD_LOST
    try {
      const { origin, trust, isFirst = false } = slot
      return admission.admit({ skill, live, origin, trust, isFirst })
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

/** What has to stay readable: what is served, and what may be once somebody has approved it. */
function revisionsOf({ live, entry }: Candidate): readonly Digest[] {
  return [live, entry.skill].flatMap(skill => skill?.revision ?? [])
}

function toStanding(decision: StandingDecision | undefined): Standing | undefined {
  if (decision?.disabled !== undefined) return { kind: 'disabled', reason: decision.disabled }
  return decision?.pinned === undefined ? undefined : { kind: 'pinned', ...decision.pinned }
}

/** A skill that was read again and is the same keeps its object, and with it everybody's caches. */
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
