import { decodeUnmarkedText, toMessage } from '@skillstoke/core/internal'
import {
  type FeedState,
  type Head,
  isOfEpoch,
  type KnownEpoch,
  type OtherSubject,
  type Place,
  type Refusal,
  tryReadEpoch,
} from './feed-state.ts'
import { parseHeadSubject, toHeadSubject } from './fleet-subjects.ts'
import { readVersionAt } from './manifest.ts'
import type { TrustedKeys } from './signing.ts'

const encoder = new TextEncoder()

/** Heads that a process stores for the next one. */
export interface StoredHeads {
  /** The document of the epoch. */
  readonly epoch: string
  readonly seq: number
  readonly heads: readonly (Place & { readonly subject: string; readonly text: string })[]
  readonly others: readonly (OtherSubject & { readonly subject: string })[]
}

/** A head whose files could not be retrieved, and the earlier head that is served instead. */
export interface ReplacedHead {
  readonly head: Head
  readonly before: Head | undefined
}

/**
 * Returns a state in the form in which it is stored. After a replaced or refused head, the next process reads all heads
 * again, because it may reach the files or have other keys.
 */
export function toStoredHeads(state: FeedState, replaced: readonly ReplacedHead[]): StoredHeads {
  const heads = new Map(state.heads)
  for (const { head, before } of replaced) {
    const subject = toHeadSubject(head)
    if (before === undefined) heads.delete(subject)
    else heads.set(subject, before)
  }
  const isComplete = replaced.length === 0 && state.isComplete
  return {
    epoch: state.epoch === undefined ? '' : decodeUnmarkedText(state.epoch.data),
    seq: isComplete ? state.seq : 0,
    heads: [...heads].map(([subject, { seq, at, data }]) => ({
      subject,
      seq,
      at,
      text: decodeUnmarkedText(data),
    })),
    others: [...state.others].map(([subject, other]) => ({ subject, ...other })),
  }
}

/**
 * Reads stored heads. Heads that no trusted key has signed are refused again. Returns `undefined` if not even the epoch is
 * trusted, because the heads then belong to another fleet.
 */
export function fromStoredHeads(
  { epoch, seq, heads, others }: StoredHeads,
  trusted: TrustedKeys,
): FeedState | undefined {
  const known = tryReadEpoch(encoder.encode(epoch), trusted)
  if (known === undefined) return undefined
  const served = new Map<string, Head>()
  const refusals = new Map<string, Refusal>()
  for (const { subject, text, ...place } of heads) {
    const data = encoder.encode(text)
    try {
      const head = readVersionAt(data, trusted, parseHeadSubject(subject))
      if (head.document.kind === 'skill')
        served.set(subject, { ...head.place, ...place, manifest: head.document, data })
    } catch (thrown) {
      refusals.set(subject, { ...place, reason: toMessage(thrown) })
    }
  }
  return {
    epoch: known,
    seq: refusals.size === 0 ? seq : 0,
    heads: served,
    refusals,
    announcements: new Map(),
    others: new Map(others.map(({ subject, ...other }) => [subject, other])),
    awaited: listAwaited(known, served.values()),
    isRetaining: [...served.values()].some(head => head.seq === 0),
    isComplete: refusals.size === 0 && seq > 0,
  }
}

/** Returns the channels whose heads belong to an earlier epoch and are not in the stream. */
function listAwaited({ document }: KnownEpoch, heads: Iterable<Head>): ReadonlySet<string> {
  const awaited = [...heads].filter(({ seq, manifest }) => seq === 0 && !isOfEpoch(manifest, document))
  return new Set(awaited.map(({ channel }) => channel))
}
