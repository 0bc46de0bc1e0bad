/**
 * Kinds of rows: behaviour that a design describes, behaviour that only its real system has, a mistake of that system
 * that must not come back, a policy that reconciles the designs, or a promise of this project.
 */
export type RequirementKind = 'described' | 'beyond' | 'mistake' | 'policy' | 'promise'

/** One requirement: an id that tests cite, and the required behaviour. */
export interface Requirement {
  readonly id: string
  readonly kind: RequirementKind
  /** Short sentences in the present tense. */
  readonly behaviour: string
  /** The page that explains why this row is not built. */
  readonly declined?: `docs/decisions/${string}.md`
}
