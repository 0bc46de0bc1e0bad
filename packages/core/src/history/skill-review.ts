import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import type { Clock, Logger } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { quote } from '../quote.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { FolderPlace } from '../registry/admission.ts'
import { createSkillNotFound } from '../registry/skill-not-found.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import { type SkillReport, targetOf } from '../registry/skill-report.ts'
import { CAPABILITY_FORMS, isCapability, type ScriptCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { flushStore } from '../store/flush-store.ts'
import type { SkillStore } from '../store/skill-store.ts'
import {
  type AgentWrite,
  type DecisionStore,
  holdsAlready,
  isAmong,
  type RecordedDecision,
  type SkillDecision,
  withDecision,
} from './decisions.ts'
import { grantedTo } from './grants.ts'
import { findHeldWrites } from './held-writes.ts'
import { findHiddenIn, refuseHidden } from './hidden-in-revision.ts'
import type { RevisionLog } from './revision-log.ts'
import { checkNewest, parseWholeRevision } from './whole-revision.ts'

export interface ReviewOptions {
  readonly registry: SkillRegistry
  readonly reader: SkillReader
  readonly store: SkillStore
  readonly decisions: DecisionStore
  /** The log of revisions, if one is kept. */
  readonly log: RevisionLog | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** The name of a skill, or `source/name` when several sources have a skill of that name. */
export type SkillTarget = string

export interface DecisionNote {
  /** Author of the decision, as shown in the history. @default 'somebody' */
  readonly by?: string
  /** Reason for the decision. */
  readonly note?: string
}

/** A skill after a decision. */
export interface DecidedSkill extends SkillReport {
  /** True if the decision was recorded; false if the same decision was already in effect. */
  readonly isNew: boolean
}

export interface DecideOptions extends DecisionNote {
  /**
   * The whole digest of the revision that a person reviewed. The call fails if this is not the newest revision. Without
   * this option, the decision may concern a text that no person has seen.
   * @default the newest revision at the time of the call
   */
  readonly revision?: string
  /**
   * Confirms that the hidden text in the revision is intended: invisible characters, and scripts that are not text.
   * Reports show codes, for example `<U+200B>` or `<0xFF>`. `approve` and `pin` require this option if the revision has
   * hidden text.
   * @default false
   */
  readonly confirmHidden?: boolean
}

const KNOWN_NOTE: KnownOptions<DecisionNote> = { by: true, note: true }
const KNOWN_ALL: KnownOptions<Omit<DecideOptions, 'revision'>> = { ...KNOWN_NOTE, confirmHidden: true }
type WithdrawOptions = Omit<DecideOptions, 'confirmHidden'>

const KNOWN_WITHDRAW: KnownOptions<WithdrawOptions> = { ...KNOWN_NOTE, revision: true }
const KNOWN: KnownOptions<DecideOptions> = { ...KNOWN_ALL, revision: true }

/**
 * Records decisions about which revisions may be served. Each decision is about one revision of one folder of one
 * source, so the next revision needs a new decision. A decision that is already in effect is recorded again only if
 * the caller adds a note.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await skills.review.disable('support-pdf', { by: 'ada', note: 'Not before the audit.' })
 * console.log(skills.current.reports().map(({ status }) => status)) // prints [ 'disabled' ]
 * await skills.review.enable('support-pdf', { by: 'ada' })
 * console.log(skills.current.list().length) // prints 1
 * ```
 */
export class SkillReview {
  readonly #options: ReviewOptions

  /** Created by `SkillRuntime`. */
  constructor(options: ReviewOptions) {
    this.#options = options
  }

  /**
   * Returns the skills that wait for a decision, sorted by name.
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const greet = { name: 'greet', description: 'Use when greeting.' }
   * const source = new MemorySource({ label: 'team', trust: 'review' }, [greet])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * console.log(skills.current.list()) // prints []
   * console.log(skills.review.pending().map(({ name, status }) => `${name}: ${status}`))
   * // prints [ 'greet: pending' ]
   * ```
   */
  pending(): readonly SkillReport[] {
    return this.#options.registry.current.reports().filter(report => report.status === 'pending')
  }

  /** Returns two skills for a folder: its newest text and its served revision. */
  revisionsOf({ source, name, location, serving }: SkillReport): {
    readonly skill: Skill | undefined
    readonly live: Skill | undefined
  } {
    const { registry } = this.#options
    const origin = registry.findSource(source)?.origin
    const skill = origin === undefined ? undefined : registry.findNewest({ origin, location })
    const served = registry.current.find(name)
    const live = served?.source === source && served.revision === serving ? served : undefined
    return { skill, live }
  }

  /**
   * Lets the newest revision of a skill go live.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when the newest revision is not the reviewed one; SKILL_INVALID
   * when the newest text is broken; INVALID_OPTION when several sources have the name, or the revision is not a whole digest;
   * HIDDEN_TEXT
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'team', trust: 'review' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * source.put({ name: 'maps', description: 'Finds routes.' })
   * await skills.fresh()
   * for (const { name, revision } of skills.review.pending()) {
   *   if (revision !== undefined) await skills.review.approve(name, { revision, by: 'ada' })
   * }
   * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'maps' ]
   * ```
   */
  async approve(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    checkOptions('approve()', options, KNOWN)
    return await this.#approve(this.findWaiting(target), options)
  }

  /**
   * Approves every revision that waits now. A revision continues to wait if its folder changes meanwhile, if it has
   * unconfirmed hidden text, or if its files cannot be retrieved.
   */
  async approveAll(options: Omit<DecideOptions, 'revision'> = {}): Promise<readonly DecidedSkill[]> {
    checkOptions('approveAll()', options, KNOWN_ALL)
    const approved: DecidedSkill[] = []
    for (const report of this.pending()) {
      const origin = this.#originOf(report.source)
      if (origin === undefined) continue
      try {
        approved.push(await this.#approve({ report, place: { origin, location: report.location } }, options))
      } catch (thrown) {
        if (!STILL_WAITING.some(code => SkillError.isInstance(thrown, code))) throw thrown
      }
    }
    return approved
  }

  /** Rejects a revision, even if it is served now. @throws {SkillError} as `approve` */
  async reject(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    checkOptions('reject()', options, KNOWN)
    const { report, place } = this.findWaiting(target)
    return await this.#decide(
      place,
      { kind: 'reject', revision: checkNewest(report, options.revision) },
      options,
    )
  }

  /**
   * Takes back the approval or the rejection of the newest revision, which then waits for a decision again if its source
   * is reviewed. The revision that was served before it is served again.
   * @throws {SkillError} as `approve`
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const greet = { name: 'greet', description: 'Use when greeting.' }
   * const source = new MemorySource({ label: 'team', trust: 'review' }, [greet])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * await skills.review.approve('greet', { by: 'ada' })
   * const { status } = await skills.review.withdraw('greet', { by: 'ada' })
   * console.log(status) // prints pending
   * ```
   */
  async withdraw(target: SkillTarget, options: WithdrawOptions = {}): Promise<DecidedSkill> {
    checkOptions('withdraw()', options, KNOWN_WITHDRAW)
    const { report, place } = this.#find(target)
    const revision = checkNewest(report, options.revision)
    const skill = this.#options.registry.findNewest(place)
    const settled = this.#options.decisions.find(place)?.settled ?? []
    const unsettles = settled.filter(file => isAmong(file, skill?.files ?? []))
    const back = unsettles.length === 0 ? {} : { unsettles }
    return await this.#decide(place, { kind: 'withdraw', revision, ...back }, options)
  }

  /**
   * Serves one revision regardless of newer texts. Without `revision`, pins the currently served revision.
   * @throws {SkillError} SKILL_NOT_FOUND; REVISION_NOT_FOUND when the store does not have the revision; INVALID_OPTION
   * when the digest is incomplete, or when no revision is given and none is served; HIDDEN_TEXT when the revision has
   * hidden text and is neither approved nor served
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const greet = { name: 'greet', description: 'Use when greeting.', body: 'Say hello.' }
   * const source = new MemorySource({ label: 'mine' }, [greet])
   * await using skills = await createSkillRuntime({ sources: [source] })
   * await skills.review.pin('greet', { by: 'ada' })
   * source.put({ ...greet, body: 'Shout.' })
   * console.log((await skills.load('greet')).body) // prints Say hello.
   * await skills.review.unpin('greet', { by: 'ada' })
   * console.log((await skills.load('greet')).body) // prints Shout.
   * ```
   */
  async pin(target: SkillTarget, options: DecideOptions = {}): Promise<DecidedSkill> {
    checkOptions('pin()', options, KNOWN)
    const { report, place } = this.#find(target)
    const { serving, revision: newest } = report
    if (options.revision !== undefined) {
      const known = [serving ?? [], newest ?? [], await this.#recordedRevisions(place)].flat()
      const revision = parseWholeRevision(options.revision, known)
      const isRead =
        revision === serving || this.#options.decisions.find(place)?.approved.has(revision) === true
      await this.#retrieve(report.name, place, revision)
      if (!isRead) await this.#checkHidden(report.name, place, revision, options)
      return await this.#pinAt(place, revision, options)
    }
    if (serving !== undefined) {
      await this.#retrieve(report.name, place, serving)
      return await this.#pinAt(place, serving, options)
    }
    const newestOf = newest === undefined ? '' : `; the newest is ${newest}`
    throw new SkillError(
      'INVALID_OPTION',
      `no revision of ${quote(report.name)} is served; name the revision to pin${newestOf}`,
    )
  }

  /** Pins a revision of one folder. */
  async pinAt(place: FolderPlace, revision: Digest, options: DecisionNote = {}): Promise<DecidedSkill> {
    checkOptions('pinAt()', options, KNOWN_NOTE)
    return await this.#pinAt(place, revision, options)
  }

  /** Removes the pin, so that newer revisions of the source can be served again. */
  async unpin(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    checkOptions('unpin()', options, KNOWN_NOTE)
    return await this.#decide(this.#find(target).place, { kind: 'unpin' }, options)
  }

  /** Stops serving a skill until it is enabled. */
  async disable(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    checkOptions('disable()', options, KNOWN_NOTE)
    const { place } = this.#find(target, ({ serving }) => serving !== undefined)
    return await this.#decide(place, { kind: 'disable' }, options)
  }

  async enable(target: SkillTarget, options: DecisionNote = {}): Promise<DecidedSkill> {
    checkOptions('enable()', options, KNOWN_NOTE)
    const { place } = this.#find(target, ({ status }) => status === 'disabled')
    return await this.#decide(place, { kind: 'enable' }, options)
  }

  /**
   * Grants capabilities to the scripts of a skill. In a trusted source, the grant is for every revision. In a reviewed
   * source, the grant is for the served revision, or for the waiting revision if none is served.
   * @throws {SkillError} SKILL_NOT_FOUND; CHANGED_SINCE_READ when the revision is not the reviewed one; INVALID_OPTION for an
   * unknown capability
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await skills.review.grant('support-pdf', ['fs.read:./forms'], { by: 'ada' })
   * console.log(skills.review.grantedTo(skills.current.get('support-pdf'))) // prints [ 'fs.read:./forms' ]
   * await skills.review.revoke('support-pdf', ['fs.read:./forms'], { by: 'ada' })
   * ```
   */
  async grant(
    target: SkillTarget,
    capabilities: readonly ScriptCapability[],
    options: DecideOptions = {},
  ): Promise<DecidedSkill> {
    checkOptions('grant()', options, KNOWN)
    checkCapabilities(capabilities)
    const { report, place } = this.find(target)
    const served = report.serving ?? report.revision
    const decided = { name: report.name, ...defined({ revision: served }) }
    const revision = checkNewest(decided, options.revision)
    const bound = this.#options.registry.findSource(report.source)?.trust === 'review' ? { revision } : {}
    return await this.#decide(place, { kind: 'grant', capabilities, ...bound }, options)
  }

  /** Revokes capabilities in every revision of a skill. @throws {SkillError} as `grant` */
  async revoke(
    target: SkillTarget,
    capabilities: readonly ScriptCapability[],
    options: DecisionNote = {},
  ): Promise<DecidedSkill> {
    checkOptions('revoke()', options, KNOWN_NOTE)
    checkCapabilities(capabilities)
    return await this.#decide(this.find(target).place, { kind: 'revoke', capabilities }, options)
  }

  /** Returns the capabilities that the scripts of a revision may use, even if its folder was moved. */
  grantedTo(skill: Skill): readonly ScriptCapability[] {
    const { registry, decisions } = this.#options
    const trust = registry.findSource(skill.source)?.trust
    const place = registry.placeOf(skill)
    return place === undefined || trust === undefined ? [] : grantedTo(skill, trust, decisions.find(place))
  }

  /** Returns every decision about a skill, oldest first. */
  async decisions(target: SkillTarget): Promise<readonly RecordedDecision[]> {
    return await this.#options.decisions.list(this.#find(target).place)
  }

  /**
   * Finds the folder that a target names, even if the folder is not served.
   * @throws {SkillError} SKILL_NOT_FOUND; INVALID_OPTION when several sources have the name and none of them serves it
   */
  find(target: SkillTarget): DecidableFolder {
    return this.#find(target, ({ serving }) => serving !== undefined)
  }

  /**
   * Finds the folder that `approve` and `reject` decide about. If several folders have the name, returns the one
   * folder that waits for approval.
   * @throws {SkillError} as `find`
   */
  findWaiting(target: SkillTarget): DecidableFolder {
    return this.#find(target, isWaiting)
  }

  /** Finds hidden text in a stored revision. Returns an empty list when the revision is not stored. */
  async findHidden(place: FolderPlace, revision: Digest): Promise<readonly Diagnostic[]> {
    const { registry, reader } = this.#options
    const skill = await registry.readRevision(place, revision)
    return skill === undefined ? [] : await findHiddenIn(skill, reader)
  }

  #originOf(source: string): string | undefined {
    return this.#options.registry.findSource(source)?.origin
  }

  async #recordedRevisions(place: FolderPlace): Promise<readonly Digest[]> {
    const records = await this.#options.log?.list(place)
    return records?.flatMap(({ revision }) => revision ?? []) ?? []
  }

  async #flush(): Promise<void> {
    await flushStore(this.#options.store, this.#options.logger)
  }

  async #checkHidden(
    name: string,
    place: FolderPlace,
    revision: Digest,
    { confirmHidden = false }: DecideOptions,
  ): Promise<void> {
    if (!confirmHidden) refuseHidden(name, await this.findHidden(place, revision))
  }

  /**
   * Retrieves the files of a revision if its source retrieves files on demand, so that the decision is about a text that
   * can be served.
   * @throws {SkillError} CHANGED_SINCE_READ when the origin now has another revision; REVISION_NOT_FOUND
   */
  async #retrieve(name: string, place: FolderPlace, revision: Digest): Promise<void> {
    const { registry, reader, store } = this.#options
    const skill = await registry.readRevision(place, revision)
    if (skill === undefined) return
    try {
      await reader.retrieve(skill)
      store.putTree(revision, skill.files)
    } catch (thrown) {
      const newest = registry.findNewest(place)
      if (newest !== undefined && newest.revision !== revision)
        checkNewest({ name, revision: newest.revision }, revision)
      throw thrown
    }
  }

  async #approve({ report, place }: DecidableFolder, options: DecideOptions): Promise<DecidedSkill> {
    const revision = checkNewest(report, options.revision)
    await this.#retrieve(report.name, place, revision)
    await this.#checkHidden(report.name, place, revision, options)
    const skill = this.#options.registry.findNewest(place)
    // An approval also approves the texts of agents, but only those in the reviewed revision.
    const writes = skill?.revision === revision ? this.#findHeldWrites(skill, place) : []
    const settles = writes.map(({ path, digest }) => ({ path, digest }))
    const settled = settles.length === 0 ? {} : { settles }
    return await this.#decide(place, { kind: 'approve', revision, ...settled }, options)
  }

  #findHeldWrites(skill: Skill, place: FolderPlace): readonly AgentWrite[] {
    const { registry, decisions } = this.#options
    const folder = registry.findFolder(place)
    if (folder === undefined) return []
    const asking = { ...place, folder, findFolder: (other: FolderPlace) => registry.findFolder(other) }
    const { own, others, forgotten } = findHeldWrites(skill, asking, decisions)
    return [...own, ...others, ...forgotten]
  }

  async #pinAt(place: FolderPlace, revision: Digest, options: DecisionNote): Promise<DecidedSkill> {
    if ((await this.#options.store.getTree(revision)) === undefined)
      throw new SkillError('REVISION_NOT_FOUND', `revision ${revision} is not stored`)
    return await this.#decide(place, { kind: 'pin', revision }, options)
  }

  async #decide(place: FolderPlace, decision: SkillDecision, options: DecisionNote): Promise<DecidedSkill> {
    const { by, note } = options
    const { decisions, clock, registry } = this.#options
    const identity = registry.findFolder(place)?.identity
    const meta = { by: by ?? 'somebody', at: clock.now(), ...defined({ note, identity }) }
    // The log may contain a recent decision that another process made and this process has not received yet.
    const made = await decisions.list(place)
    const isLost = this.#reportOf(place)?.diagnostics.some(({ code }) => code === 'DECISIONS_LOST') === true
    const isNew =
      note !== undefined || isLost || !holdsAlready(made.reduce(withDecision, undefined), decision)
    if (isNew) {
      // Store the revision before the decision, because other processes read the revision as soon as they receive the
      // decision.
      if ('revision' in decision) await this.#flush()
      await decisions.record(place, { ...decision, ...meta })
      await registry.reconsider(place)
      // The revision to serve must become durable together with the decision.
      await this.#flush()
    }
    const report = this.#reportOf(place)
    if (report === undefined)
      throw new SkillError('SKILL_NOT_FOUND', `${quote(place.location)} no longer exists`)
    return { ...report, isNew }
  }

  #reportOf({ origin, location }: FolderPlace): SkillReport | undefined {
    return this.#options.registry.current
      .reports()
      .flatMap(withCopies)
      .find(each => each.location === location && this.#originOf(each.source) === origin)
  }

  /**
   * Finds the folder that a target names. If several folders have the name, returns the one folder that `isLikely`
   * accepts.
   */
  #find(target: SkillTarget, isLikely: (report: SkillReport) => boolean = () => true): DecidableFolder {
    const own = this.#options.registry.current.reports()
    // A name without a source never selects a copy. A target `source/name` can select a copy in another source.
    const reports = own.some(({ name }) => name === target) ? own : own.flatMap(withCopies)
    const exact = reports.filter(({ source, location }) => target === `${source}/${location}`)
    const named = ({ name, source }: SkillReport): boolean =>
      target === name || target === `${source}/${name}`
    const matching = exact.length > 0 ? exact : reports.filter(named)
    const likely = matching.filter(isLikely)
    const [report, another] = likely.length > 0 ? likely : matching
    const origin = report === undefined ? undefined : this.#originOf(report.source)
    if (report === undefined || origin === undefined) {
      const available = [...new Set(reports.map(({ name }) => name))]
      throw createSkillNotFound(target, available, this.#options.registry.current.sources())
    }
    if (another !== undefined && likely.length !== 1) {
      const choices = matching.map(each => quote(targetOf(each))).join(', ')
      throw new SkillError(
        'INVALID_OPTION',
        `several skills are called ${quote(target)}; name one of ${choices}`,
      )
    }
    return { report, place: { origin, location: report.location } }
  }
}

/** The folder that a target names. */
export interface DecidableFolder {
  readonly report: SkillReport
  readonly place: FolderPlace
}

/** Codes of the errors after which a revision continues to wait for an approval. */
const STILL_WAITING = ['HIDDEN_TEXT', 'CHANGED_SINCE_READ', 'REVISION_NOT_FOUND'] as const

function checkCapabilities(capabilities: readonly string[]): void {
  const wrong = capabilities.find(word => !isCapability(word))
  if (wrong === undefined && capabilities.length > 0) return
  const shown = wrong === undefined ? 'an empty list' : quote(wrong)
  throw new SkillError(
    'INVALID_OPTION',
    `${shown} is not a capability; the capabilities are ${CAPABILITY_FORMS}`,
  )
}

/** Splits a report into one report per folder, because a decision is about one folder. */
function withCopies({ copies = [], ...report }: SkillReport): readonly SkillReport[] {
  return [report, ...copies.map(copy => ({ ...report, ...copy }))]
}

function isWaiting({ status }: SkillReport): boolean {
  return status === 'pending' || status === 'rejected'
}
