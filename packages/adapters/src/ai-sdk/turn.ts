import { type SessionState, SkillError } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'

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
  /** The parts of a stream, which contain the error of a failed model call. */
  readonly fullStream?: AsyncIterable<object>
}

interface StepAnswer {
  readonly response: { readonly messages: readonly AiMessage[] }
}

/** What the SDK passes to `onStepEnd`. */
export interface EndedStep extends StepAnswer {
  readonly finishReason: string
}

/** The history after a turn. */
interface KeptTurn<Message> {
  readonly messages: readonly Message[]
  /** What the session knew after the finished steps. Absent if all steps finished. */
  readonly state?: SessionState
}

/** The messages of one turn while the AI SDK runs it. Notices are between them, and the SDK does not store notices. */
export class AiTurn<Message extends AiMessage> {
  /** The messages with which the host replaced all messages in its own `prepareStep`. */
  replacement: readonly Message[] | undefined
  /** What the session knew when the running step began. */
  state: SessionState | undefined
  readonly #inputLength: number
  #sent: readonly Message[] = []
  /** Number of messages of the last step, as the SDK counts them. */
  #received = 0
  #carriesForward = false
  /** Number of steps that the SDK began. */
  #started = 0
  #firstStep: object | undefined
  /** The steps that the SDK reported as finished. A call that rejects returns none of them. */
  readonly #ended: StepAnswer[] = []

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
    this.#sent = [...this.#sent, ...messages.slice(known)]
    return this.#sent
  }

  /** Records a step whose tools have answered. */
  end(step: EndedStep): void {
    if (step.finishReason !== 'error') this.#ended.push(step)
  }

  /** Records the messages that the SDK sends in this step. */
  send(messages: readonly Message[]): void {
    this.#sent = messages
  }

  /**
   * Returns the complete history after the turn, with its notices.
   * @throws the error of the model call that failed
   */
  async finish(result: AiResult): Promise<KeptTurn<Message>> {
    let complete: readonly StepAnswer[]
    try {
      complete = await result.steps
    } catch (thrown) {
      throw (await findError(result)) ?? thrown
    }
    // A stream does not reject if a later step fails. It lists only the steps before that step.
    if (complete.length < this.#started)
      throw (
        (await findError(result)) ??
        new SkillError(
          'IO_FAILED',
          `the model call of step ${this.#started} was aborted, so the turn was not kept; start it again with turn(), or keep its finished steps with { partial: true }`,
        )
      )
    this.#assertOwn(complete)
    return this.#after(complete)
  }

  /** Returns the history after the steps that finished; `undefined` if none did. */
  async finishEarly(result: AiResult | undefined): Promise<KeptTurn<Message> | undefined> {
    // `generateText` rejects instead of returning the steps that finished, and so does a stream in its first step.
    const given = await Promise.resolve(result?.steps ?? []).catch(() => [])
    this.#assertOwn(given)
    const complete = given.length < this.#ended.length ? this.#ended : given
    if (this.#started > 0 && complete.length >= this.#started) return this.#after(complete)
    return this.#started > 1 ? { messages: this.#sent, ...defined({ state: this.state }) } : undefined
  }

  #assertOwn(complete: readonly StepAnswer[]): void {
    const [first] = complete
    const isOther = first !== undefined && this.#firstStep !== undefined && first !== this.#firstStep
    if (complete.length > this.#started || isOther)
      throw new SkillError('CLOSED', 'the result belongs to another turn; pass the result of the open turn')
  }

  #after(complete: readonly StepAnswer[]): KeptTurn<Message> {
    const last = complete.at(-1)?.response.messages ?? []
    // Version 6 lists the answers of all steps here, version 7 only the answers of this step.
    const answers = this.#carriesForward ? last : last.slice(this.#received - this.#inputLength)
    return { messages: [...this.#sent, ...(answers as readonly Message[])] }
  }
}

/** Returns the error of a stream; `undefined` for other results, and for a stream that can be read only once. */
async function findError(result: AiResult): Promise<unknown> {
  try {
    for await (const part of result.fullStream ?? []) if ('error' in part) return part.error
  } catch {
    // The SDK was told to keep nothing of the stream.
  }
  return undefined
}
