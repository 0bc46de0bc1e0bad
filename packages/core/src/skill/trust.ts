/** The values of `SourceTrust`. */
export const TRUSTS = ['auto', 'review'] as const

/** Whether changes of a source are served immediately (`auto`) or after an approval (`review`). */
export type SourceTrust = (typeof TRUSTS)[number]
