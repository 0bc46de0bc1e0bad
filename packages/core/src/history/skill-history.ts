import { SkillError } from '../errors.ts'
import type { FolderPlace } from '../registry/admission.ts'
import type { SkillReport } from '../registry/generation.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { compareRevisions, type RevisionDiff } from './compare-revisions.ts'
import type { RevisionLog, RevisionRecord } from './revision-log.ts'
import type { Found, SkillTarget } from './skill-review.ts'

/** What the history needs of the runtime. */
export interface HistoryHost {
  find(target: SkillTarget): Found
  /** Any stored revision of a folder; `undefined` when the store no longer has it. */
  readRevision(place: FolderPlace, revision: Digest): Promise<Skill | undefined>
  /** Writes a revision back into the folder; false when the source is not written to. */
  restore(place: FolderPlace, skill: Skill, by: string): Promise<boolean>
  /** Serves a revision whatever is written. */
  pin(place: FolderPlace, revision: Digest, by: string): Promise<SkillReport>
  /** Resolves when everything that is visible is written down. */
  recorded(): Promise<void>
}

export interface RollbackOptions {
  /**
   * The revision to go back to, whole or its first eight digits and more.
   * @default the one that is served instead of the newest text, or was served before it
   */
  readonly revision?: string
  /** For people, in the history. @default 'somebody' */
  readonly by?: string
}

export interface Rollback {
  readonly skill: string
  readonly from: Digest | undefined
  readonly to: Digest
  /** `written`: the old files are in the folder again. `pinned`: the source is read-only, so the old revision is served. */
  readonly how: 'written' | 'pinned'
}

/** What skills were, and the way back. */
export class SkillHistory {
  readonly #host: HistoryHost
  readonly #log: RevisionLog

  /** Made by `SkillRuntime`. */
  constructor(host: HistoryHost, log: RevisionLog) {
    this.#host = host
    this.#log = log
  }

  /** Every step of a skill that is known, newest first. @throws {SkillError} SKILL_NOT_FOUND */
  async log(target: SkillTarget): Promise<readonly RevisionRecord[]> {
    await this.#host.recorded()
    return await this.#log.list(this.#host.find(target).place)
  }

  /**
   * What differs between two revisions, given whole or by eight digits and more. Without any: from what is served to the newest
   * text, or, when that is served, from the revision before it. With one: from that to the newest text.
   * @throws {SkillError} SKILL_NOT_FOUND, REVISION_NOT_FOUND
   */
  async diff(target: SkillTarget, from?: string, to?: string): Promise<RevisionDiff & RevisionPair> {
    const { report, place } = this.#host.find(target)
    const newest = report.revision ?? report.serving
    const after = to === undefined ? newest : await this.#resolve(place, to)
    if (after === undefined)
      throw new SkillError(
        'SKILL_INVALID',
        `the text of ${JSON.stringify(report.name)} is broken, and nothing is served`,
      )
    const before =
      from === undefined ? await this.#findBefore(place, report, after) : await this.#resolve(place, from)
    const newer = await this.#read(place, after)
    const older = before === undefined ? undefined : await this.#read(place, before)
    return { ...compareRevisions(older, newer), before: older, after: newer }
  }

  /**
   * Brings an old revision back: as a new change of the folder, which can be rolled back itself, or as a pin where the source is
   * not written to.
   * @throws {SkillError} SKILL_NOT_FOUND; REVISION_NOT_FOUND when there is none to go back to, or it is no longer stored;
   * CHANGED_SINCE_READ when the folder changed meanwhile; IO_FAILED
   */
  async rollback(target: SkillTarget, options: RollbackOptions = {}): Promise<Rollback> {
    const { report, place } = this.#host.find(target)
    const { by = 'somebody' } = options
    const present = report.revision ?? report.serving
    const to = await this.findRollback(target, options.revision)
    const skill = await this.#read(place, to)
    const isWritten = await this.#host.restore(place, skill, by)
    if (!isWritten) await this.#host.pin(place, to, by)
    return { skill: report.name, from: present, to, how: isWritten ? 'written' : 'pinned' }
  }

  /** The revision to which `rollback` would go. @throws {SkillError} as `rollback` */
  async findRollback(target: SkillTarget, revision?: string): Promise<Digest> {
    const { report, place } = this.#host.find(target)
    const to =
      revision === undefined
        ? await this.#findBefore(place, report, report.revision)
        : await this.#resolve(place, revision)
    if (to !== undefined) return to
    const shown = JSON.stringify(report.name)
    throw new SkillError('REVISION_NOT_FOUND', `there is no revision of ${shown} before the present one`)
  }

  /** The revision that is served instead of the newest one, or was before it. */
  async #findBefore(
    place: FolderPlace,
    report: SkillReport,
    after: Digest | undefined,
  ): Promise<Digest | undefined> {
    if (report.serving !== undefined && report.serving !== after) return report.serving
    return await this.#findServedBefore(place, after)
  }

  async #findServedBefore(place: FolderPlace, present: Digest | undefined): Promise<Digest | undefined> {
    await this.#host.recorded()
    const records = await this.#log.list(place)
    const live = records.filter(({ event, revision }) => event === 'live' && revision !== undefined)
    const at = live.findIndex(({ revision }) => revision === present)
    return live.slice(at + 1).find(({ revision }) => revision !== present)?.revision
  }

  /** The revision that a text of digits means. */
  async #resolve(place: FolderPlace, text: string): Promise<Digest> {
    const wanted = text.replace(/^sha256:/, '').toLowerCase()
    if (!/^[0-9a-f]{4,64}$/.test(wanted))
      throw new SkillError(
        'INVALID_OPTION',
        `revision is ${JSON.stringify(text)}; use its first hexadecimal digits`,
      )
    await this.#host.recorded()
    const known = new Set((await this.#log.list(place)).flatMap(({ revision }) => revision ?? []))
    const matching = [...known].filter(revision => revision.slice('sha256:'.length).startsWith(wanted))
    const [only, another] = matching
    if (another !== undefined) {
      const shown = matching.map(shortDigest).join(', ')
      throw new SkillError(
        'INVALID_OPTION',
        `several revisions begin with ${text}: ${shown}; use more digits`,
      )
    }
    if (only !== undefined) return only
    if (wanted.length === 64) return `sha256:${wanted}`
    throw new SkillError(
      'REVISION_NOT_FOUND',
      `no known revision begins with ${text}; log lists those there are`,
    )
  }

  async #read(place: FolderPlace, revision: Digest): Promise<Skill> {
    const skill = await this.#host.readRevision(place, revision)
    if (skill !== undefined) return skill
    throw new SkillError('REVISION_NOT_FOUND', `revision ${shortDigest(revision)} is no longer stored`)
  }
}

export interface RevisionPair {
  readonly before: Skill | undefined
  readonly after: Skill
}
