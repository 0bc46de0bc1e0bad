import { SkillError } from '../errors.ts'
import type { Clock } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { quote } from '../quote.ts'
import type { FolderPlace } from '../registry/admission.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { compareRevisions, type RevisionDiff } from './compare-revisions.ts'
import { type DecisionStore, EFFECT_MS, type RecordedDecision } from './decisions.ts'
import { findRevision, type RevisionChoice } from './find-revision.ts'
import { refuseHidden } from './hidden-in-revision.ts'
import type { HistoryRecorder } from './history-recorder.ts'
import type { RevisionLog, RevisionRecord } from './revision-log.ts'
import type { SkillReview, SkillTarget } from './skill-review.ts'
import { parseWholeRevision } from './whole-revision.ts'

/** Restores old revisions. */
export interface RevisionRestorer {
  /** Returns true if the source of a folder is writable. */
  isWritable(place: FolderPlace): boolean
  /** Writes a revision back into a writable folder. */
  restore(place: FolderPlace, skill: Skill, by: string): Promise<void>
}

export interface HistoryOptions {
  readonly clock: Clock
  readonly registry: SkillRegistry
  readonly review: SkillReview
  readonly decisions: DecisionStore
  /** The log of revisions, if one is kept. */
  readonly log: RevisionLog | undefined
  readonly recorder: HistoryRecorder | undefined
  readonly restorer: RevisionRestorer
}

export interface RollbackOptions {
  /**
   * The whole digest of the revision to restore.
   * @default the served revision; if the newest text is served, the previously served revision
   */
  readonly revision?: string
  /** Author of the rollback, as shown in the history. @default 'somebody' */
  readonly by?: string
  /**
   * Confirms that invisible characters in the revision, and scripts that are not UTF-8 text, are intended. This option is
   * required if the revision contains such characters or scripts and was never live.
   * @default false
   */
  readonly confirmHidden?: boolean
}

const KNOWN: KnownOptions<RollbackOptions> = { revision: true, by: true, confirmHidden: true }

export interface RollbackOutcome {
  readonly skill: string
  readonly from: Digest | undefined
  readonly to: Digest
  /**
   * `written`: the folder contains the old files again. `pinned`: the source is read-only or the skill is already pinned,
   * so the old revision is served regardless of newer texts. `unchanged`: the revision is already current and served.
   */
  readonly how: 'written' | 'pinned' | 'unchanged'
}

/**
 * Lists and restores earlier revisions of skills. Every method fails when the runtime records no history.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openState } from '@skillstoke/core/node'
 *
 * const state = await openState('./state')
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], state })
 * const steps = await skills.history.log('support-pdf')
 * console.log(steps.map(({ event, cause }) => `${event}: ${cause}`)) // prints [ 'live: found' ]
 * ```
 */
export class SkillHistory {
  readonly #options: HistoryOptions

  /** Made by `SkillRuntime`. */
  constructor(options: HistoryOptions) {
    this.#options = options
  }

  /**
   * Returns every known step of a skill, newest first, even if the skill was removed. The result includes decisions without a
   * visible effect, and each rejected revision.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async log(target: SkillTarget): Promise<readonly RevisionRecord[]> {
    const { place, name, source } = await this.#find(target)
    const records = await this.#log.list(place)
    const decided = (await this.#options.decisions.list(place)).flatMap((decision): RevisionRecord[] => {
      if (decision.kind === 'write' || records.some(record => cameOf(record, decision))) return []
      const { kind: cause, by, at } = decision
      const what = 'capabilities' in decision ? decision.capabilities.join(' ') : undefined
      const note = [what, decision.note].filter(Boolean).join(': ')
      const author = { kind: 'person', name: by } as const
      const revision = 'revision' in decision ? { revision: decision.revision } : {}
      const noted = note === '' ? {} : { note }
      return [{ ...place, source, name, ...revision, event: 'decided', cause, author, at, ...noted }]
    })
    // At equal times, the stable sort keeps a recorded revision before the decision that caused it.
    return [...records, ...decided].sort((a, b) => b.at - a.at)
  }

  /**
   * Reads one revision of a skill, even if the skill was removed: a whole digest, its first digits, `-1` for the
   * revision that was served before the present one, `yesterday`, or a date.
   * @throws {SkillError} SKILL_NOT_FOUND; INVALID_OPTION when the text has none of these forms; REVISION_NOT_FOUND
   */
  async read(target: SkillTarget, revision: string): Promise<Skill> {
    const found = await this.#find(target)
    return await this.#read(found.place, findRevision(revision, await this.#choice(found)))
  }

  /**
   * Compares two revisions, given as for `read()`. By default, compares the served revision
   * with the newest text. If the newest text is served, compares the previously served revision with the newest text.
   * If only `from` is given, compares `from` with the newest text.
   * @throws {SkillError} SKILL_NOT_FOUND; REVISION_NOT_FOUND; SKILL_INVALID when the newest text is broken or removed and no
   * revision is served
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   * import { MemoryRevisionLog } from '@skillstoke/core/source'
   *
   * const greet = { name: 'greet', description: 'Use when greeting.', body: 'Say hello.' }
   * const source = new MemorySource({ label: 'mine' }, [greet])
   * await using skills = await createSkillRuntime({ sources: [source], state: { history: new MemoryRevisionLog() } })
   * source.put({ ...greet, description: 'Use for greetings.' })
   * await skills.fresh()
   * const { fields, isBodyChanged } = await skills.history.diff('greet')
   * console.log(fields.map(({ field }) => field), isBodyChanged) // prints [ 'description' ] false
   * ```
   */
  async diff(
    target: SkillTarget,
    from?: string,
    to?: string,
  ): Promise<RevisionDiff & { readonly before: Skill | undefined; readonly after: Skill }> {
    const found = await this.#find(target)
    const { place, name, serving, newest = serving } = found
    const after = to === undefined ? newest : findRevision(to, await this.#choice(found))
    if (after === undefined)
      throw new SkillError(
        'SKILL_INVALID',
        `the text of ${quote(name)} is broken or removed, and no revision is served`,
      )
    const before =
      from === undefined
        ? await this.#findBefore(place, serving, after)
        : findRevision(from, await this.#choice(found))
    const newer = await this.#read(place, after)
    const older = before === undefined ? undefined : await this.#read(place, before)
    return { ...compareRevisions(older, newer), before: older, after: newer }
  }

  /**
   * Restores an old revision, even of a removed skill. In a writable source, the rollback writes the old files as a new
   * change of the folder. In a read-only source, the rollback pins the old revision.
   * @throws {SkillError} SKILL_NOT_FOUND; REVISION_NOT_FOUND when there is no earlier revision, or it is no longer stored;
   * INVALID_OPTION when the revision was rejected or is not given as a whole digest; CHANGED_SINCE_READ when the folder
   * changed meanwhile; READ_ONLY when the skill was removed from a read-only source; HIDDEN_TEXT when the revision has
   * hidden text and was never live; IO_FAILED
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   * import { MemoryRevisionLog } from '@skillstoke/core/source'
   *
   * const greet = { name: 'greet', description: 'Use when greeting.', body: 'Say hello.' }
   * const source = new MemorySource({ label: 'mine' }, [greet])
   * await using skills = await createSkillRuntime({ sources: [source], state: { history: new MemoryRevisionLog() } })
   * source.put({ ...greet, body: 'Shout.' })
   * await skills.fresh()
   * const { how } = await skills.history.rollback('greet', { by: 'ada' })
   * console.log(how, (await skills.load('greet')).body) // prints pinned Say hello.
   * ```
   */
  async rollback(target: SkillTarget, options: RollbackOptions = {}): Promise<RollbackOutcome> {
    checkOptions('rollback()', options, KNOWN)
    const { by = 'somebody', confirmHidden = false } = options
    const { found, ...done } = await this.#plan(target, options.revision, readWhole)
    const { place } = found
    const skill = await this.#read(place, done.to)
    if (!confirmHidden && !(await this.#wasLive(place, done.to)))
      refuseHidden(done.skill, await this.#options.review.findHidden(place, done.to))
    if (done.how === 'written') await this.#options.restorer.restore(place, skill, by)
    else if (done.how === 'pinned') await this.#pin(place, done.to, by)
    return done
  }

  /**
   * Returns the outcome that `rollback` would have, and changes nothing. Accepts the same forms of a revision as
   * `read()`. `to` in the outcome is the whole digest.
   * @throws {SkillError} as `rollback`
   */
  async planRollback(target: SkillTarget, revision?: string): Promise<RollbackOutcome> {
    const { found: _, ...plan } = await this.#plan(target, revision, findRevision)
    return plan
  }

  async #plan(
    target: SkillTarget,
    revision: string | undefined,
    read: ReadRevision,
  ): Promise<RollbackOutcome & { readonly found: Known }> {
    const found = await this.#find(target)
    const { place, name, source, isGone, serving, newest = serving } = found
    const to = await this.#findRollback(found, revision, read)
    const isPinned = this.#options.decisions.find(place)?.pinned !== undefined
    const isWritten = this.#options.restorer.isWritable(place) && !isPinned
    if (!isWritten && isGone)
      throw new SkillError(
        'READ_ONLY',
        `${quote(name)} was removed from the source ${quote(source)}, which is read-only`,
      )
    const isThere = serving === to && (isPinned || found.newest === to)
    return {
      skill: name,
      from: isPinned ? serving : newest,
      to,
      how: isThere ? 'unchanged' : isWritten ? 'written' : 'pinned',
      found,
    }
  }

  async #findRollback(found: Known, revision: string | undefined, read: ReadRevision): Promise<Digest> {
    const { place, name, serving, newest } = found
    const choice = await this.#choice(found)
    const to =
      revision === undefined ? await this.#findBefore(place, serving, newest) : read(revision, choice)
    if (revision !== undefined && !choice.records.some(each => each.revision === to))
      throw new SkillError(
        'REVISION_NOT_FOUND',
        `${to} was never a revision of ${quote(name)}; "log" lists the known revisions`,
      )
    if (to === undefined) throw new SkillError('REVISION_NOT_FOUND', `${quote(name)} has no earlier revision`)
    const decided = await this.#findRejection(place, to)
    if (decided !== undefined) {
      throw new SkillError(
        'INVALID_OPTION',
        `revision ${shortDigest(to)} of ${quote(name)} was rejected by ${decided.by}; to serve it anyway, pin it`,
      )
    }
    return to
  }

  /** Returns the rejection of a revision, unless a later decision approves or pins the revision. */
  async #findRejection(place: FolderPlace, revision: Digest): Promise<RecordedDecision | undefined> {
    const decisions = await this.#options.decisions.list(place)
    const last = decisions.findLast(each => 'revision' in each && each.revision === revision)
    return last?.kind === 'reject' ? last : undefined
  }

  /** Finds the folder that a target names, or the last removed folder with that name. */
  async #find(target: SkillTarget): Promise<Known> {
    const log = this.#log
    await this.#options.registry.delivered()
    try {
      const { report, place } = this.#options.review.find(target)
      const { name, source, serving, revision: newest } = report
      return { place, name, source, serving, newest, isGone: false }
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'SKILL_NOT_FOUND')) throw thrown
      // No folder has this name any longer, so search the log for the removed folder. The log may lack the removal
      // itself.
      const gone = log.lasts().filter(({ origin, name, source, location }) => {
        const isAsked = [name, `${source}/${name}`, `${source}/${location}`].includes(target)
        return isAsked && this.#options.registry.isKnown(origin)
      })
      const [only, another] = gone
      if (only === undefined) throw thrown
      if (another !== undefined) {
        const choices = gone.map(({ source, location }) => quote(`${source}/${location}`)).join(', ')
        throw new SkillError('INVALID_OPTION', `several removed skills have this name; use one of ${choices}`)
      }
      const { origin, location, name, source } = only
      return {
        place: { origin, location },
        name,
        source,
        serving: undefined,
        newest: undefined,
        isGone: true,
      }
    }
  }

  /** Returns the served revision, or the previously served revision if the newest text is served. */
  async #findBefore(
    place: FolderPlace,
    serving: Digest | undefined,
    after: Digest | undefined,
  ): Promise<Digest | undefined> {
    if (serving !== undefined && serving !== after) return serving
    return await this.#findServedBefore(place, after)
  }

  async #findServedBefore(place: FolderPlace, present: Digest | undefined): Promise<Digest | undefined> {
    const records = await this.#log.list(place)
    const live = records.filter(({ event, revision }) => event === 'live' && revision !== undefined)
    const at = live.findIndex(({ revision }) => revision === present)
    for (const { revision } of live.slice(at + 1)) {
      if (revision === undefined || revision === present) continue
      if ((await this.#findRejection(place, revision)) === undefined) return revision
    }
    return undefined
  }

  /** @throws {SkillError} INVALID_OPTION when the runtime has no log */
  get #log(): RevisionLog {
    const { log } = this.#options
    if (log !== undefined) return log
    throw new SkillError(
      'INVALID_OPTION',
      'no history is kept; pass a log to createSkillRuntime, for example state: { history: new MemoryRevisionLog() }',
    )
  }

  async #pin(place: FolderPlace, revision: Digest, by: string): Promise<void> {
    const { recorder, review } = this.#options
    recorder?.expect(place, revision, { author: { kind: 'person', name: by }, cause: 'rollback' })
    await review.pinAt(place, revision, { by })
  }

  async #wasLive(place: FolderPlace, revision: Digest): Promise<boolean> {
    const records = await this.#log.list(place)
    return records.some(each => each.event === 'live' && each.revision === revision)
  }

  async #choice({ place, serving }: Known): Promise<RevisionChoice> {
    return { records: await this.#log.list(place), serving, now: this.#options.clock.now() }
  }

  async #read(place: FolderPlace, revision: Digest): Promise<Skill> {
    const skill = await this.#options.registry.readRevision(place, revision)
    if (skill !== undefined) return skill
    throw new SkillError('REVISION_NOT_FOUND', `revision ${shortDigest(revision)} is no longer stored`)
  }
}

/** Parses the text of a revision. A decision requires a whole digest. To look at a revision, any form is enough. */
type ReadRevision = (text: string, choice: RevisionChoice) => Digest

const readWhole: ReadRevision = (text, { records }) =>
  parseWholeRevision(
    text,
    records.flatMap(({ revision }) => revision ?? []),
  )

/**
 * Returns true if a decision caused a step that the log lists. Such a decision needs no entry of its own. A rejection and
 * its withdrawal always need their own entries, because the steps that they cause may name no revision.
 */
function cameOf({ cause, author, at }: RevisionRecord, decision: RecordedDecision): boolean {
  const { kind, by } = decision
  if (
    kind === 'reject' ||
    kind === 'withdraw' ||
    author.name !== by ||
    at < decision.at ||
    at - decision.at > EFFECT_MS
  )
    return false
  return cause === kind || (cause === 'rollback' && (kind === 'pin' || kind === 'approve'))
}

/** The current state of a folder. */
interface Known {
  readonly place: FolderPlace
  readonly name: string
  readonly source: string
  readonly serving: Digest | undefined
  /** Revision of the newest text; absent when the text is broken or the folder was removed. */
  readonly newest: Digest | undefined
  readonly isGone: boolean
}
