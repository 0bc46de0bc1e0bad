import { nodeHasher } from '@skillstoke/core/node'

/** Result of comparing the request of a model call with the previous request. */
export interface PrefixReading {
  /**
   * First eight digits of the digest of this request. The digest covers the system text, the tools and all messages.
   */
  readonly digest: string
  /** Digest of the previous request. Absent for the first request. */
  readonly last?: string
  /**
   * Digest of the first n messages of this request, where n is the number of messages in the previous request. Equals
   * `last` if the system text, the tools and these n messages are unchanged.
   */
  readonly sentBefore?: string
  /** Whether this request starts with the whole previous request, so that a provider's cache stays valid. */
  readonly isUnchanged: boolean
}

/** Detects changes to text that was already sent to a model. */
export class PrefixMeter {
  #last: { readonly digest: string; readonly messages: number } | undefined

  /** Compares a request with the last recorded request. Does not record the new request. */
  compare(head: unknown, messages: readonly unknown[]): PrefixReading {
    return this.#read(head, messages).reading
  }

  /** Compares a request with the last recorded request, and then records the new request. */
  measure(head: unknown, messages: readonly unknown[]): PrefixReading {
    const { reading, digest } = this.#read(head, messages)
    this.#last = { digest, messages: messages.length }
    return reading
  }

  /** Forgets the last request, because the conversation starts over. */
  reset(): void {
    this.#last = undefined
  }

  #read(head: unknown, messages: readonly unknown[]): { reading: PrefixReading; digest: string } {
    let digest = nodeHasher.sha256(JSON.stringify(head))
    let sentBefore = this.#last?.messages === 0 ? digest : undefined
    messages.forEach((message, index) => {
      digest = nodeHasher.sha256(`${digest}\n${JSON.stringify(message)}`)
      if (index + 1 === this.#last?.messages) sentBefore = digest
    })
    const reading = {
      digest: digest.slice(0, 8),
      ...(this.#last === undefined ? {} : { last: this.#last.digest.slice(0, 8) }),
      ...(sentBefore === undefined ? {} : { sentBefore: sentBefore.slice(0, 8) }),
      isUnchanged: this.#last === undefined || this.#last.digest === sentBefore,
    }
    return { reading, digest }
  }
}
