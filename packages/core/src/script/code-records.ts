import type { DecisionStore } from '../history/decisions.ts'
import type { SkillReview } from '../history/skill-review.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import { findMissing, type ScriptCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'

export interface CodeRecordsOptions {
  readonly registry: SkillRegistry
  readonly review: SkillReview
  readonly decisions: DecisionStore
  readonly store: SkillStore
}

/** Reads and stores records about the scripts of skills: grants, diagnostics, and the last revision that loaded. */
export class CodeRecords {
  readonly #options: CodeRecordsOptions

  constructor(options: CodeRecordsOptions) {
    this.#options = options
  }

  /** Returns the capabilities granted to the scripts of a revision, even if its folder was moved. */
  grantedTo(skill: Skill): readonly ScriptCapability[] {
    return this.#options.review.grantedTo(skill)
  }

  /** True if a person rejected this revision, or if one of the given capabilities is not granted to it. */
  isForbidden(skill: Skill, grants: readonly ScriptCapability[]): boolean {
    return findMissing(grants, this.grantedTo(skill)).length > 0 || this.isRejected(skill)
  }

  /** True if a person rejected this revision. */
  isRejected(skill: Skill): boolean {
    const { registry, decisions } = this.#options
    const place = registry.placeOf(skill)
    return place !== undefined && decisions.find(place)?.rejected.has(skill.revision) === true
  }

  /** Reports diagnostics about the scripts of a skill. */
  async remark(skill: Skill, diagnostics: readonly Diagnostic[]): Promise<void> {
    await this.#options.registry.remark(skill, diagnostics)
  }

  /** Stores the last revision whose code loaded without errors, so that a later process can restore that revision. */
  remember(skill: Skill): void {
    const ref = this.#refOf(skill)
    if (ref !== undefined) this.#options.store.setRef(ref, skill.revision)
  }

  /** Deletes what `remember` stored. Call this method when no revision of the skill is served any longer. */
  forget(skill: Skill): void {
    const ref = this.#refOf(skill)
    if (ref !== undefined) this.#options.store.setRef(ref, undefined)
  }

  /**
   * Reads the revision that `remember` stored. Returns `undefined` if that revision equals the revision of `skill`,
   * or is no longer in the store.
   */
  async readRemembered(skill: Skill): Promise<Skill | undefined> {
    const { registry, store } = this.#options
    const place = registry.placeOf(skill)
    const ref = this.#refOf(skill)
    const revision = ref === undefined ? undefined : store.getRef(ref)
    if (place === undefined || revision === undefined || revision === skill.revision) return undefined
    return await registry.readRevision(place, revision)
  }

  /** Returns a reference name made of source and skill name, so that a moved folder keeps its record. */
  #refOf({ source, name }: Skill): string | undefined {
    const origin = this.#options.registry.findSource(source)?.origin
    return origin === undefined ? undefined : JSON.stringify(['code', origin, name])
  }
}
