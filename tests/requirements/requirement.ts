/**
 * What a row is: behaviour that a design describes, something that only its real system has, a mistake of that system
 * that must not come back, a policy that reconciles the designs, or a promise of this project.
 */
export type RequirementKind = 'described' | 'beyond' | 'mistake' | 'policy' | 'promise'

/** One row: an id that tests cite, and what has to be true. */
export interface Requirement {
  readonly id: string
  readonly kind: RequirementKind
  /** One or two sentences in the present tense. */
  readonly behaviour: string
  /** Not built on purpose: the page that says why. */
  readonly declined?: `docs/decisions/${string}.md`
}
