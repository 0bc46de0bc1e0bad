import type { VersionRecord } from './manifest.ts'
import type { StoredMessage } from './nats-messages.ts'

/** A head that counts only later: with the rest of its publication, or with the list of its channel. */
export interface WaitingHead {
  readonly message: StoredMessage
  readonly document: VersionRecord
}

/** The heads that wait, by subject. The newest head of a subject replaces an earlier one that waits. */
export class WaitingHeads {
  readonly #bySubject = new Map<string, WaitingHead>()
  /** Publications with several commits whose end is known. */
  readonly #ended = new Set<string>()
  #readyAt = Infinity

  get bySubject(): ReadonlyMap<string, WaitingHead> {
    return this.#bySubject
  }

  /** The lowest sequence at which a publication in one commit is complete. */
  get readyAt(): number {
    return this.#readyAt
  }

  add(waiting: WaitingHead, seq: number): void {
    this.#bySubject.set(waiting.message.subject, waiting)
    this.#noteReady(waiting, seq)
  }

  delete(subject: string): void {
    this.#bySubject.delete(subject)
  }

  noteEnd(publishId: string): void {
    this.#ended.add(publishId)
  }

  /**
   * Whether all heads of a publication have been read, and none of them was refused.
   * @param seq the sequence up to which the stream was read
   */
  isWhole(
    { document: { publication, publishId }, message }: WaitingHead,
    seq: number,
    refusals: Iterable<{ readonly seq: number }>,
  ): boolean {
    if (publication === undefined) return true
    if (publication.isSplit === true) return this.#ended.has(publishId)
    const first = message.seq - publication.index
    const last = first + publication.count - 1
    if (last > seq) return false
    for (const refused of refusals) if (refused.seq >= first && refused.seq <= last) return false
    return true
  }

  /** Removes and returns the heads that need not wait any longer, in the order of the stream. */
  takeReady(isReady: (waiting: WaitingHead) => boolean, seq: number): readonly WaitingHead[] {
    const ready = [...this.#bySubject.values()].filter(isReady)
    for (const { message } of ready) this.#bySubject.delete(message.subject)
    this.#readyAt = Infinity
    for (const waiting of this.#bySubject.values()) this.#noteReady(waiting, seq)
    return ready.sort((a, b) => a.message.seq - b.message.seq)
  }

  #noteReady({ document: { publication }, message }: WaitingHead, seq: number): void {
    if (publication === undefined || publication.isSplit === true) return
    const last = message.seq - publication.index + publication.count - 1
    if (last > seq) this.#readyAt = Math.min(this.#readyAt, last)
  }
}
