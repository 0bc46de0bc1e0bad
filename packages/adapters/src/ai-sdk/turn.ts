import { SkillError } from '@skillstoke/core'

/** A `ModelMessage` of the AI SDK. */
export interface AiMessage {
  readonly role: string
  readonly content: unknown
}

/** The part of the arguments of `prepareStep` that the adapter uses. */
export interface AiStep<Message extends AiMessage> {
  readonly messages: readonly Message[]
  /** The complete steps of this turn. */
  readonly steps?: readonly object[]
  /** Present since version 7 of the AI SDK, which passes the messages of one step on to the next step. */
  readonly initialMessages?: readonly Message[]
}

/** The result of `generateText`, `streamText` or an agent: the steps with the messages that the model answered. */
export interface AiResult {
  readonly steps: PromiseLike<readonly StepAnswer[]> | readonly StepAnswer[]
}

interface StepAnswer {
  readonly response: { readonly messages: readonly AiMessage[] }
}

/** The messages of one turn while the AI SDK runs it. Notices are between them, and the SDK does not store notices. */
export class AiTurn<Message extends AiMessage> {
  /** The messages with which the host replaced all messages in its own `prepareStep`. */
  replacement: readonly Message[] | undefined
  readonly #inputLength: number
  #sent: readonly Message[] = []
  /** Number of messages of the last step, as the SDK counts them. */
  #received = 0
  #carriesForward = false
  /** Number of steps that the SDK began. */
  #started = 0
  #firstStep: object | undefined

  constructor(inputLength: number) {
    this.#inputLength = inputLength
  }

  /** Returns the messages of a step: everything that was sent before, then the newest answers. */
  read({ messages, steps, initialMessages }: AiStep<Message>): readonly Message[] {
    this.#started++
    this.#firstStep = steps?.[0]
    this.#carriesForward = initialMessages !== undefined
    const known = this.#carriesForward ? this.#sent.length : this.#received
    this.#received = messages.length
    return [...this.#sent, ...messages.slice(known)]
  }

  /** Records the messages that the SDK sends in this step. */
  send(messages: readonly Message[]): void {
    this.#sent = messages
  }

  /** Returns the complete history after the turn, with its notices. */
  async finish({ steps }: AiResult): Promise<readonly Message[]> {
    const complete = await steps
    // A stream does not reject if a later step fails. It lists only the steps before that step.
    if (complete.length < this.#started)
      throw new SkillError(
        'IO_FAILED',
        `the model call of step ${this.#started} failed or was aborted, so the turn was not kept; start it again with turn()`,
      )
    const isOther = this.#firstStep !== undefined && complete[0] !== this.#firstStep
    if (complete.length > this.#started || isOther)
      throw new SkillError('CLOSED', 'the result belongs to another turn; pass the result of the open turn')
    const last = complete.at(-1)?.response.messages ?? []
    // Version 6 lists the answers of all steps here, version 7 only the answers of this step.
    const answers = this.#carriesForward ? last : last.slice(this.#received - this.#inputLength)
    return [...this.#sent, ...(answers as readonly Message[])]
  }
}
