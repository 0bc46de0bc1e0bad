import type { Digest } from '@skillstoke/core'
import { compareText, digestOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { HeadPlace } from './fleet-subjects.ts'
import { type Announcement, type FleetEpoch, type SkillVersion, tryReadDocument } from './manifest.ts'
import type { TrustedKeys } from './signing.ts'

/** The newest message of a subject. */
export interface Place {
  /** Sequence in the stream; 0 if the stream does not contain the message any more. */
  readonly seq: number
  /** Wall time of the server when it stored the message, in milliseconds since the epoch; 0 if it is unknown. */
  readonly at: number
}

/** The newest version of a skill in a channel. */
export interface Head extends HeadPlace, Place {
  readonly manifest: SkillVersion
  /** The stored document, with its signatures. */
  readonly data: Uint8Array
}

/** A subject without a head: a marker, the beat, or a document that was refused and replaced none. */
export interface OtherSubject extends Place {
  /** The version that the skill had last; 0 without a version. */
  readonly version: number
}

/** A document that was refused. The earlier head of its subject stays. */
export interface Refusal extends Place {
  readonly reason: string
}

/** The epoch that a table belongs to. */
export interface KnownEpoch {
  readonly document: FleetEpoch
  /** The stored document, with its signatures. */
  readonly data: Uint8Array
}

/** All heads at one sequence. Immutable. */
export interface FeedState {
  /** The epoch; `undefined` before the first read. */
  readonly epoch: KnownEpoch | undefined
  readonly seq: number
  /** Heads by subject. */
  readonly heads: ReadonlyMap<string, Head>
  /** Refused documents by subject. */
  readonly refusals: ReadonlyMap<string, Refusal>
  /** The files of publications that are about to be committed, by subject. */
  readonly announcements: ReadonlyMap<string, Announcement>
  /** All other subjects of the stream. */
  readonly others: ReadonlyMap<string, OtherSubject>
  /** Channels whose epoch is not filled. Their heads of an earlier epoch stay until a list of the channel comes. */
  readonly awaited: ReadonlySet<string>
  /** Whether a head stays that the stream does not contain. */
  readonly isRetaining: boolean
  /** Whether every newest message has its effect, so that the next process may continue from the sequence. */
  readonly isComplete: boolean
}

export const EMPTY_STATE: FeedState = {
  epoch: undefined,
  seq: 0,
  heads: new Map(),
  refusals: new Map(),
  announcements: new Map(),
  others: new Map(),
  awaited: new Set(),
  isRetaining: false,
  isComplete: true,
}

/** The highest sequence that a state contains. A state that must be read again has the sequence 0. */
export function newestSeq({ seq, heads, others }: FeedState): number {
  let newest = seq
  for (const place of [...heads.values(), ...others.values()]) newest = Math.max(newest, place.seq)
  return newest
}

/** Whether a version was published in an epoch. */
export function isOfEpoch({ fleet, epoch }: SkillVersion, document: FleetEpoch | undefined): boolean {
  return fleet === document?.id && epoch === document.epoch
}

/** Returns the epoch in a document. Returns `undefined` if the document is not valid or not trusted. */
export function tryReadEpoch(data: Uint8Array | undefined, trusted: TrustedKeys): FleetEpoch | undefined {
  const document = tryReadDocument(data, trusted)
  return document?.kind === 'epoch' ? document : undefined
}

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
