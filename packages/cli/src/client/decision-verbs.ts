/** Decisions about one skill. */
export const DECISION_VERBS = ['approve', 'reject', 'pin', 'unpin', 'enable', 'disable'] as const

export type DecisionVerb = (typeof DECISION_VERBS)[number]

/** Verbs for decisions about the capabilities of one skill. */
export const GRANT_VERBS = ['grant', 'revoke'] as const

export type GrantVerb = (typeof GRANT_VERBS)[number]
