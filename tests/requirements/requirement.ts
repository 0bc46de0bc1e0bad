/**
 * The kind of a row. `described`: a design describes this behaviour. `beyond`: only the real system behind a design
 * behaves this way. `mistake`: a mistake of that real system, which this project must not repeat. `policy`: reconciles
 * the designs. `promise`: a promise of this project.
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
