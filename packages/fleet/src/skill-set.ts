import type { Digest } from '@skillstoke/core'
import { compareText, digestOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { FeedState, Head } from './feed-state.ts'

/** Returns the heads of a channel, sorted by sequence. */
export function listHeads({ heads }: FeedState, channel: string): readonly Head[] {
  return [...heads.values()].filter(head => head.channel === channel).sort((a, b) => a.seq - b.seq)
}

/** Returns the heads of a channel that the servers have, and not those that only stay until a list comes. */
export function listStored(state: FeedState, channel: string): readonly Head[] {
  return listHeads(state, channel).filter(({ seq }) => seq > 0)
}

/** Returns the digest of a set of skills. Machines that serve the same revisions have the same digest. */
export function digestOfSet(skills: readonly { readonly name: string; readonly revision: string }[]): Digest {
  const lines = skills.map(({ name, revision }) => `${name}\0${revision}\n`)
  return digestOf(lines.sort(compareText).join(''), nodeHasher)
}
