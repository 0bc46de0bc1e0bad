import { type LedgerEntry, MemoryLedger } from '../activation/ledger.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { findLoadedChange, isBackAsLoaded, type KnownRevision, type LoadedChange } from './loaded-change.ts'
import type { SessionState } from './session-state.ts'

/** The updates to make in the ledger when a message is committed. */
export interface LoadedMarks {
  /** The skills that the message names, each at its current revision; `undefined` for a removed skill. */
  readonly said: ReadonlyMap<string, Skill | undefined>
  /**
   * The skills that changed although the message does not name them. An entry applies only while `from` is the last
   * reported revision of the skill.
   */
  readonly silent: ReadonlyMap<
    string,
    { readonly skill: Skill | undefined; readonly from: Digest | undefined }
  >
}

/** The part of a message that is about loaded skills. */
export interface LoadedNotice {
  /**
   * A number that is higher for each later message or load. If two records are about one skill, the record with the
   * higher number is valid.
   */
  readonly ordinal: number
  readonly marks: LoadedMarks
}

/** The skills whose instructions are in a conversation, each with its last reported revision. */
export class LoadedSkills {
  readonly ledger: MemoryLedger
  readonly #isInScope: ScopeTest
  /** For each skill name, the ordinal of the last message or load that concerns the skill. */
  readonly #saidBy = new Map<string, number>()
  /** The revisions that the ledger names. The value is `undefined` if the store no longer has the revision. */
  readonly #known = new Map<Digest, KnownRevision | undefined>()

  constructor(isInScope: ScopeTest, retained: RetainedRevisions) {
    this.#isInScope = isInScope
    this.ledger = new MemoryLedger(retained)
  }

  /** Records that the conversation received the instructions of a skill. */
  load(skill: Skill, name: string, ordinal: number): void {
    this.ledger.forget(name) // the new entry goes to the end, which keeps the order of loading
    this.note(skill, name, ordinal)
  }

  /** Records that the conversation received the current revision of a skill. */
  note(skill: Skill, name: string, ordinal: number): void {
    this.ledger.record({ name, revision: skill.revision, toldRevision: skill.revision })
    this.ledger.saw(name, skill.revision)
    this.#saidBy.set(name, ordinal)
    this.#keep(skill)
  }

  /** Restores the loaded skills of a stored conversation. Drops skills that are no longer in scope. */
  resume({ ledger, seen }: SessionState, isProven: boolean): void {
    const claims = Object.entries(seen).flatMap(([name, revisions]) =>
      revisions.map(revision => ({ name, revision })),
    )
    for (const claim of [...claims, ...ledger])
      if (this.#isInScope(claim.name)) this.ledger.claim(claim, isProven)
  }

  /**
   * For a resumed conversation, reads loaded revisions that are no longer served, so that notices can name the changed
   * files.
   */
  async learn(now: Generation, reader: SkillReader): Promise<void> {
    for (const { name, revision, toldRevision } of this.ledger.entries()) {
      const skill = now.find(name)
      if (skill === undefined || skill.revision === toldRevision) continue
      for (const wanted of [revision, toldRevision])
        if (wanted !== undefined && wanted !== skill.revision && !this.#known.has(wanted))
          this.#known.set(
            wanted,
            await reader.findEarlier(skill, wanted, !this.ledger.isProven(name, wanted)),
          )
    }
  }

  /** Returns the changes of loaded skills that a notice must report. Skills that must be loaded again come first. */
  changes(now: Generation): readonly LoadedChange[] {
    const changes = this.ledger.entries().flatMap(entry => {
      const skill = this.#find(entry, now)
      return (skill && findLoadedChange(entry, skill, revision => this.#revision(revision, skill))) ?? []
    })
    return changes.sort((a, b) => Number(b.needsLoading) - Number(a.needsLoading))
  }

  /** Returns the names of loaded skills that were removed and not yet reported as removed. */
  gone(now: Generation): readonly string[] {
    return this.ledger
      .entries()
      .flatMap(entry =>
        entry.toldRevision !== undefined && this.#find(entry, now) === undefined ? entry.name : [],
      )
  }

  /**
   * Returns the updates to make in the ledger when a message about a generation is committed. `named` contains the
   * skills that the message names.
   */
  marks(now: Generation, named: ReadonlySet<string>, hearsChanges: boolean): LoadedMarks {
    const said = new Map<string, Skill | undefined>()
    const silent = new Map<string, { skill: Skill | undefined; from: Digest | undefined }>()
    for (const entry of this.ledger.entries()) {
      const skill = this.#find(entry, now)
      if (skill?.revision === entry.toldRevision) continue
      if (named.has(entry.name)) said.set(entry.name, skill)
      // Record a removal even if no message names the skill. Otherwise a later return of the skill would not be
      // reported.
      else if (skill === undefined || hearsChanges || isBackAsLoaded(entry, skill))
        silent.set(entry.name, { skill, from: entry.toldRevision })
    }
    return { said, silent }
  }

  /** Returns the entries that the ledger will have after a message is committed. */
  after({ marks, ordinal }: LoadedNotice): readonly LedgerEntry[] {
    return this.ledger.entries().map(entry => {
      const { name, toldRevision } = entry
      const silent = marks.silent.get(name)
      if (silent !== undefined)
        return silent.from === toldRevision ? { ...entry, toldRevision: silent.skill?.revision } : entry
      const isNews = marks.said.has(name) && (this.#saidBy.get(name) ?? 0) < ordinal
      return isNews ? { ...entry, toldRevision: marks.said.get(name)?.revision } : entry
    })
  }

  commit(notice: LoadedNotice): void {
    const before = this.ledger.entries()
    this.after(notice).forEach((entry, index) => {
      if (entry === before[index]) return
      this.ledger.record(entry)
      const { said, silent } = notice.marks
      if (said.has(entry.name)) this.#saidBy.set(entry.name, notice.ordinal)
      const skill = said.get(entry.name) ?? silent.get(entry.name)?.skill
      if (skill !== undefined) this.#keep(skill)
    })
    this.#prune()
  }

  forget(name: string): void {
    this.ledger.forget(name)
    this.#prune()
  }

  /** Forgets all loaded skills and all reports about them. */
  clear(): void {
    for (const { name } of this.ledger.entries()) this.ledger.forget(name)
    this.#saidBy.clear()
  }

  #find({ name }: LedgerEntry, now: Generation): Skill | undefined {
    return this.#isInScope(name) ? now.find(name) : undefined
  }

  #revision(revision: Digest, served: Skill): KnownRevision | undefined {
    return revision === served.revision ? served : this.#known.get(revision)
  }

  #keep({ revision, files, skillFile, frontmatterDigest, bodyDigest }: Skill): void {
    this.#known.set(revision, { revision, files, skillFile, frontmatterDigest, bodyDigest })
  }

  #prune(): void {
    const named = new Set(
      this.ledger.entries().flatMap(({ revision, toldRevision }) => [revision, toldRevision]),
    )
    for (const revision of this.#known.keys()) if (!named.has(revision)) this.#known.delete(revision)
  }
}
