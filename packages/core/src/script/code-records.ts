import type { DecisionStore } from '../history/decisions.ts'
import type { SkillReview } from '../history/skill-review.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'

export interface CodeRecordsOptions {
  readonly registry: SkillRegistry
  readonly review: SkillReview
  readonly decisions: DecisionStore
  readonly store: SkillStore
}

/** Records about the code of skills: what it may do, what is wrong with it, and which revision of it worked last. */
export class CodeRecords {
  readonly #options: CodeRecordsOptions

  constructor(options: CodeRecordsOptions) {
    this.#options = options
  }

  /** Returns what the scripts of a revision may do, wherever its folder is now. */
  grantedTo(skill: Skill): readonly ScriptCapability[] {
    return this.#options.review.grantedTo(skill)
  }

  /** Whether a person decided that this revision must not be served. */
  isRejected(skill: Skill): boolean {
    const { registry, decisions } = this.#options
    const place = registry.placeOf(skill)
    return place !== undefined && decisions.find(place)?.rejected.has(skill.revision) === true
  }

  /** Shows what is wrong with the scripts of a skill. */
  async remark(skill: Skill, diagnostics: readonly Diagnostic[]): Promise<void> {
    await this.#options.registry.remark(skill, diagnostics)
  }

  /** Records the revision whose code worked last, for the next process too. */
  remember(skill: Skill): void {
    const ref = this.#refOf(skill)
    if (ref !== undefined) this.#options.store.setRef(ref, skill.revision)
  }

  /** Drops what `remember` recorded, when nothing of a skill is served any more. */
  forget(skill: Skill): void {
    const ref = this.#refOf(skill)
    if (ref !== undefined) this.#options.store.setRef(ref, undefined)
  }

  /** Reads the revision that `remember` recorded last, if it is another one and still stored. */
  async readRemembered(skill: Skill): Promise<Skill | undefined> {
    const { registry, store } = this.#options
    const place = registry.placeOf(skill)
    const ref = this.#refOf(skill)
    const revision = ref === undefined ? undefined : store.getRef(ref)
    if (place === undefined || revision === undefined || revision === skill.revision) return undefined
    return await registry.readRevision(place, revision)
  }

  /** Code belongs to a name of a source, not to a folder, so it stays when the folder moves. */
  #refOf({ source, name }: Skill): string | undefined {
    const origin = this.#options.registry.findSource(source)?.origin
    return origin === undefined ? undefined : JSON.stringify(['code', origin, name])
  }
}
