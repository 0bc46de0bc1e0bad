/** What `--confirm` can name. */
export const CONFIRMATIONS = ['scripts', 'writes'] as const

/** Calls of the model that a person confirms before they are made. */
export type Confirmation = (typeof CONFIRMATIONS)[number]
