/** The values of `SourceTrust`. */
export const TRUSTS = ['auto', 'review'] as const

/** Whether changes of a source go live automatically (`auto`) or wait for an approval (`review`). */
export type SourceTrust = (typeof TRUSTS)[number]
