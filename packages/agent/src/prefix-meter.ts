import { nodeHasher } from '@skillstoke/core/node'

/** How the request of a model call relates to the one before it. */
export interface PrefixReading {
  /** Digest of system text, tools and all messages of this request: the first eight digits. */
  readonly digest: string
  /** Digest of the last request; absent for the first one. */
  readonly last?: string
  /** Digest of the part of this request that was sent with the last one; equal to `last` when nothing of it changed. */
  readonly sentBefore?: string
  /** Whether that part is byte for byte what was sent before, so that a provider's cache still holds. */
  readonly isUnchanged: boolean
}

/** Watches that nothing already sent to a model is ever altered. */
export class PrefixMeter {
  #last: { readonly digest: string; readonly messages: number } | undefined

  /** How a request would relate to the last one. */
  compare(head: unknown, messages: readonly unknown[]): PrefixReading {
    return this.#read(head, messages).reading
  }

  /** The same for a request that is being made: the next one is compared with it. */
  measure(head: unknown, messages: readonly unknown[]): PrefixReading {
    const { reading, digest } = this.#read(head, messages)
    this.#last = { digest, messages: messages.length }
    return reading
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
