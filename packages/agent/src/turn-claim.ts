import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isAlive } from '@skillstoke/core/internal/node'
import { ConversationBusyError, type ConversationStore } from './conversation-store.ts'

const LEASE_MS = 30_000
const RENEW_MS = 10_000

/**
 * The claim of this process on one conversation. While a turn runs, other processes cannot append to the conversation,
 * so they stop before they call a model.
 */
export class ConversationClaim {
  /** Names the machine and the process, so that the claim of a killed process can be recognised. */
  readonly holder: string = [hostname(), process.pid, randomUUID()].join(' ')
  readonly #store: ConversationStore
  readonly #tenant: string
  readonly #conversation: string
  #timer: ReturnType<typeof setInterval> | undefined
  #renewal: Promise<void> = Promise.resolve()

  constructor(store: ConversationStore, tenant: string, conversation: string) {
    this.#store = store
    this.#tenant = tenant
    this.#conversation = conversation
  }

  /**
   * Claims the conversation, or renews the claim. Takes over the claim of a process on this machine that has ended.
   * @throws ConversationBusyError when another process answers in the conversation
   * @throws ConversationConflictError when another process appended messages
   */
  async take(expectSeq: () => number): Promise<void> {
    try {
      await this.#claim(expectSeq())
    } catch (thrown) {
      if (!(thrown instanceof ConversationBusyError) || !hasEnded(thrown.holder)) throw thrown
      await this.#store.release(this.#tenant, this.#conversation, thrown.holder)
      await this.#claim(expectSeq())
    }
    this.#timer ??= setInterval(() => {
      // A failed renewal shows itself at the next append.
      this.#renewal = this.#claim(expectSeq()).catch(() => undefined)
    }, RENEW_MS).unref()
  }

  /** Never throws, because a claim that is not released ends by itself. */
  async release(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    // A renewal that arrives after the release would claim the conversation again.
    await this.#renewal
    await this.#store.release(this.#tenant, this.#conversation, this.holder).catch(() => undefined)
  }

  async #claim(expectSeq: number): Promise<void> {
    const claim = { holder: this.holder, expectSeq, leaseMs: LEASE_MS }
    await this.#store.claim(this.#tenant, this.#conversation, claim)
  }
}

/** True if the holder was a process of this machine that has ended. */
function hasEnded(holder: string): boolean {
  const [host, pid] = holder.split(' ')
  return host === hostname() && !isAlive(Number(pid))
}
