import { SkillError } from '../errors.ts'
import type { Clock } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { FolderPlace } from '../registry/admission.ts'
import { type Generation, type SkillReport, targetOf } from '../registry/generation.ts'
import { CAPABILITY_FORMS, type Capability, isCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import { describeUnknownSkill } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import type { Trust } from '../skill/trust.ts'
import {
  type Decision,
  type DecisionStore,
  holdsAlready,
  type RecordedDecision,
  withDecision,
} from './decisions.ts'
import { grantedTo } from './grants.ts'
import { refuseHidden } from './hidden-in-revision.ts'
import { findHeldWrites } from './review-admission.ts'
import { checkNewest, parseWholeRevision } from './whole-revision.ts'

/** What a review needs of the runtime. */
export interface ReviewHost {
  current(): Generation
  originOf(source: string): string | undefined
  trustOf(source: string): Trust | undefined
  /** The newest text of a folder, live or not. */
  findNewest(place: FolderPlace): Skill | undefined
  /** Every revision of a folder that is written down. */
  recordedRevisions(place: FolderPlace): Promise<readonly Digest[]>
  /** What nobody sees who reads a revision. */
  findHidden(place: FolderPlace, revision: Digest): Promise<readonly Diagnostic[]>
  /** Whether the store can serve a revision. */
  isStored(revision: Digest): Promise<boolean>
  /** Resolves when what was read is stored, for other processes, too. */
  stored(): Promise<void>
  /** Resolves when what was decided about a folder is visible. */
  reconsider(place: FolderPlace): Promise<void>
}

export interface ReviewOptions {
  readonly decisions: DecisionStore
  readonly clock: Clock
}

/** Which skill is meant: its name, or `source/name` when several sources have one. */
export type SkillTarget = string

export interface DecisionNote {
  /** For people, in the history. @default 'somebody' */
  readonly by?: string
  /** Why. */
  readonly note?: string
}

/** A skill after something was decided about it. */
export interface DecidedSkill extends SkillReport {
  /** False when it was so already: then nothing is written down. */
  readonly isNew: boolean
}

export interface DecideOptions extends DecisionNote {
  /**
   * The whole digest of the revision that was looked at; refused when there is another one by now. Without it the decision is about
   * a text that nobody may have seen.
   * @default the newest at the moment of the call
   */
  readonly revision?: string
  /**
   * Whether characters that nobody sees were looked at, as `<U+200B>`, and are meant. `approve` and `pin` ask for it where there are
   * any.
   * @default false
   */
  readonly confirmHidden?: boolean
}

const KNOWN: KnownOptions<DecideOptions> = { revision: true, confirmHidden: true, by: true, note: true }

/**
 * Decides what may be served. Decisions are bound to a source, a folder and a revision: whatever comes next is asked again. What is
 * so already is not decided again, unless there is something to note.
 */
export class SkillReview {
  readonly #host: ReviewHost
  readonly #options: ReviewOptions

  /** Made by `SkillRuntime`. */
  constructor(host: ReviewHost, options: ReviewOptions) {
    this.#host = host
    this.#options = options
  }

  /** What waits for a decision, sorted by name. */
  pending(): readonly SkillReport[] {
    return this.#host
      .current()
      .reports()
      .filter(report => report.status === 'pending')
  }

  /** The newest text of a folder as a skill, and what is served instead, as far as there are any. */
  revisionsOf({ source, name, location, serving }: SkillReport): FolderRevisions {
    const origin = this.#host.originOf(source)
    const skill = origin === undefined ? undefined : this.#host.findNewest({ origin, location })
    const served = this.#host.current().find(name)
    const live = served?.source === source && served.revision === serving ? served : undefined
    return { skill, live }
  }

  /**
   * Lets the newest revision of a skill go live.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when it is not the one that was looked at; SKILL_INVALID when
   * its text is broken; INVALID_OPTION when several sources have the name, or the revision is not whole; HIDDEN_TEXT
   */
  async approve(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    return await this.#approve(this.findWaiting(target), options)
  }

  /** Approves everything that waits now; one that changes meanwhile, or has hidden text that is not confirmed, goes on waiting. */
  async approveAll(options: Omit<DecideOptions, 'revision'> = {}): Promise<readonly DecidedSkill[]> {
    const approved: DecidedSkill[] = []
    for (const report of this.pending()) {
      const origin = this.#host.originOf(report.source)
      if (origin === undefined) continue
      try {
        approved.push(await this.#approve({ report, place: { origin, location: report.location } }, options))
      } catch (thrown) {
        if (!SkillError.isInstance(thrown, 'HIDDEN_TEXT')) throw thrown
      }
    }
    return approved
  }

  /** Keeps a revision from being served, also when it is served now. @throws {SkillError} as `approve` */
  async reject(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    const { report, place } = this.findWaiting(target)
    return await this.#decide(
      place,
      { kind: 'reject', revision: checkNewest(report, options.revision) },
      options,
    )
  }

  /**
   * Serves one revision whatever is written, by default the one that is served now.
   * @throws {SkillError} SKILL_NOT_FOUND; REVISION_NOT_FOUND when the store does not have it; INVALID_OPTION when it is not whole,
   * or none is named and none is served; HIDDEN_TEXT when it was neither approved nor served before
   */
  async pin(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    const { report, place } = this.#find(target)
    const { serving, revision: newest } = report
    if (options.revision !== undefined) {
      const known = [serving ?? [], newest ?? [], await this.#host.recordedRevisions(place)].flat()
      const revision = parseWholeRevision(options.revision, known)
      const isRead =
        revision === serving || this.#options.decisions.find(place)?.approved.has(revision) === true
      if (!isRead) await this.#checkHidden(report.name, place, revision, options)
      return await this.pinAt(place, revision, options)
    }
    if (serving !== undefined) return await this.pinAt(place, serving, options)
    const newestOf = newest === undefined ? '' : `; its newest is ${newest}`
    throw new SkillError(
      'INVALID_OPTION',
      `nothing of ${JSON.stringify(report.name)} is served; name the revision to pin${newestOf}`,
    )
  }

  /** The same for an exact folder. */
  async pinAt(place: FolderPlace, revision: Digest, options: DecisionNote = {}): Promise<DecidedSkill> {
    if (!(await this.#host.isStored(revision)))
      throw new SkillError('REVISION_NOT_FOUND', `revision ${revision} is not stored`)
    return await this.#decide(place, { kind: 'pin', revision }, options)
  }

  /** Follows the source again. */
  async unpin(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    return await this.#decide(this.#find(target).place, { kind: 'unpin' }, options)
  }

  /** Serves nothing of a skill until it is enabled. */
  async disable(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    const { place } = this.#find(target, ({ serving }) => serving !== undefined)
    return await this.#decide(place, { kind: 'disable' }, options)
  }

  async enable(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    const { place } = this.#find(target, ({ status }) => status === 'disabled')
    return await this.#decide(place, { kind: 'enable' }, options)
  }

  /**
   * Lets the scripts of a skill do more than compute: whatever is written where changes go live by themselves, and else
   * the revision that is served, or that waits.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when it is not the one that was looked at; INVALID_OPTION for a
   * word that is no capability
   */
  async grant(
    target: SkillTarget,
    capabilities: readonly Capability[],
    options: DecideOptions = {},
  ): Promise<DecidedSkill> {
    checkCapabilities(capabilities)
    const { report, place } = this.find(target)
    const served = report.serving ?? report.revision
    const decided = { name: report.name, ...(served === undefined ? {} : { revision: served }) }
    const revision = checkNewest(decided, options.revision)
    const bound = this.#host.trustOf(report.source) === 'review' ? { revision } : {}
    return await this.#decide(place, { kind: 'grant', capabilities, ...bound }, options)
  }

  /** Takes back what was granted, at every revision. @throws {SkillError} as `grant` */
  async revoke(
    target: SkillTarget,
    capabilities: readonly Capability[],
    options: DecisionNote = {},
  ): Promise<DecidedSkill> {
    checkCapabilities(capabilities)
    return await this.#decide(this.find(target).place, { kind: 'revoke', capabilities }, options)
  }

  /** What the scripts of a revision may do. */
  grantedTo(skill: Skill): readonly Capability[] {
    const origin = this.#host.originOf(skill.source)
    const trust = this.#host.trustOf(skill.source)
    if (origin === undefined || trust === undefined) return []
    const decided = this.#options.decisions.find({ origin, location: skill.location })
    return grantedTo(skill, trust, decided)
  }

  /** Every decision about a skill, oldest first. */
  async decisions(target: SkillTarget): Promise<readonly RecordedDecision[]> {
    return await this.#options.decisions.list(this.#find(target).place)
  }

  /**
   * The folder that a name means, live or not.
   * @throws {SkillError} SKILL_NOT_FOUND; INVALID_OPTION when several sources have the name and none of them serves it
   */
  find(target: SkillTarget): Found {
    return this.#find(target, ({ serving }) => serving !== undefined)
  }

  /** The folder that `approve` and `reject` mean: among several of one name the only one that waits. @throws {SkillError} as `find` */
  findWaiting(target: SkillTarget): Found {
    return this.#find(target, isWaiting)
  }

  async #checkHidden(
    name: string,
    place: FolderPlace,
    revision: Digest,
    { confirmHidden = false }: DecideOptions,
  ): Promise<void> {
    if (!confirmHidden) refuseHidden(name, await this.#host.findHidden(place, revision))
  }

  async #approve({ report, place }: Found, options: DecideOptions): Promise<DecidedSkill> {
    const revision = checkNewest(report, options.revision)
    await this.#checkHidden(report.name, place, revision, options)
    const skill = this.#host.findNewest(place)
    // What an agent wrote counts as anybody's once somebody has read it; of another revision nothing was read.
    const writes =
      skill?.revision === revision ? findHeldWrites(skill, this.#options.decisions.find(place)) : []
    const settles = writes.map(({ path, digest }) => ({ path, digest }))
    const settled = settles.length === 0 ? {} : { settles }
    return await this.#decide(place, { kind: 'approve', revision, ...settled }, options)
  }

  async #decide(place: FolderPlace, decision: Decision, options: DecideOptions): Promise<DecidedSkill> {
    checkOptions(`${decision.kind}()`, options, KNOWN)
    const { by, note } = options
    const { decisions, clock } = this.#options
    const meta = { by: by ?? 'somebody', at: clock.now(), ...(note === undefined ? {} : { note }) }
    // What another process has decided a moment ago is in the log, and may not have been heard of yet.
    const made = await decisions.list(place)
    const isLost = this.#reportOf(place)?.diagnostics.some(({ code }) => code === 'DECISIONS_LOST') === true
    const isNew =
      note !== undefined || isLost || !holdsAlready(made.reduce(withDecision, undefined), decision)
    if (isNew) {
      // Whoever hears of the decision reads the revision that it names.
      if ('revision' in decision) await this.#host.stored()
      await decisions.record(place, { ...decision, ...meta })
      await this.#host.reconsider(place)
    }
    const report = this.#reportOf(place)
    if (report === undefined)
      throw new SkillError('SKILL_NOT_FOUND', `${JSON.stringify(place.location)} is not there any more`)
    return { ...report, isNew }
  }

  #reportOf({ origin, location }: FolderPlace): SkillReport | undefined {
    return this.#host
      .current()
      .reports()
      .flatMap(withCopies)
      .find(each => each.location === location && this.#host.originOf(each.source) === origin)
  }

  /** The folder that is meant; among several of one name the only one for which there is something to decide. */
  #find(target: SkillTarget, isLikely: (report: SkillReport) => boolean = () => true): Found {
    const own = this.#host.current().reports()
    // A copy is meant only where its source is named: the skill has all of them.
    const reports = own.some(({ name }) => name === target) ? own : own.flatMap(withCopies)
    const exact = reports.filter(({ source, location }) => target === `${source}/${location}`)
    const named = ({ name, source }: SkillReport): boolean =>
      target === name || target === `${source}/${name}`
    const matching = exact.length > 0 ? exact : reports.filter(named)
    const likely = matching.filter(isLikely)
    const [report, another] = likely.length > 0 ? likely : matching
    const origin = report === undefined ? undefined : this.#host.originOf(report.source)
    if (report === undefined || origin === undefined) {
      const available = [...new Set(reports.map(({ name }) => name))]
      throw new SkillError('SKILL_NOT_FOUND', describeUnknownSkill(target, available), {
        data: { name: target, available },
      })
    }
    if (another !== undefined && likely.length !== 1) {
      const choices = matching.map(each => JSON.stringify(targetOf(each))).join(', ')
      throw new SkillError(
        'INVALID_OPTION',
        `several skills are called ${JSON.stringify(target)}; name one of ${choices}`,
      )
    }
    return { report, place: { origin, location: report.location } }
  }
}

export interface FolderRevisions {
  /** Absent when the newest text is broken. */
  readonly skill: Skill | undefined
  /** Absent when nothing of the folder is served. */
  readonly live: Skill | undefined
}

/** The folder that a target means. */
export interface Found {
  readonly report: SkillReport
  readonly place: FolderPlace
}

function checkCapabilities(capabilities: readonly string[]): void {
  const wrong = capabilities.find(word => !isCapability(word))
  if (wrong === undefined && capabilities.length > 0) return
  const shown = wrong === undefined ? 'nothing' : JSON.stringify(wrong)
  throw new SkillError('INVALID_OPTION', `${shown} is no capability; there are ${CAPABILITY_FORMS}`)
}

/** Each folder by itself: a decision is about one of them. */
function withCopies({ copies = [], ...report }: SkillReport): readonly SkillReport[] {
  return [report, ...copies.map(copy => ({ ...report, ...copy }))]
}

function isWaiting({ status }: SkillReport): boolean {
  return status === 'pending' || status === 'rejected'
}
