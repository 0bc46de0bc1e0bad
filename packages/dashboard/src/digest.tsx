import type { ComponentChildren } from 'preact'
import { shortDigest } from './format.ts'

/** Renders the short form of a digest, with the whole digest as its title. */
export function Digest({ of: digest }: { readonly of: string }): ComponentChildren {
  return <code title={digest}>{shortDigest(digest)}</code>
}
