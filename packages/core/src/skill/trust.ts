/** The values of `Trust`. */
export const TRUSTS = ['auto', 'review'] as const

/** Whether changes of a source go live by themselves (`auto`), or wait until they are approved (`review`). */
export type SourceTrust = (typeof TRUSTS)[number]
