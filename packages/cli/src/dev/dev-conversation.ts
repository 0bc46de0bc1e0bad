import type { AgentEvent, Conversation, PrefixReading } from '@skillstoke/agent'
import { createScopeTest, type RegistryUpdate, type SkillRuntime } from '@skillstoke/core'
import { shortDigest, toMessage } from '@skillstoke/core/internal'
import type { DevPrinter } from './dev-printer.ts'
import type { TurnLog } from './turn-log.ts'

export interface DevConversationOptions {
  readonly conversation: Conversation
  readonly skills: SkillRuntime
  readonly print: DevPrinter
  readonly log: TurnLog
  readonly signal: AbortSignal
  /** @default a request to use the skill that changed last */
  readonly question?: string
}

/**
 * The conversation of the demo agent. Runs one turn at the start and one turn after each change, never two turns at the
 * same time.
 */
export class DevConversation {
  readonly #options: DevConversationOptions
  #turns = 0
  #wanted: string | undefined
  #running: Promise<void> | undefined

  constructor(options: DevConversationOptions) {
    this.#options = options
  }

  /**
   * Returns the number of the next turn, and compares the first model request of that turn with the last model request.
   */
  next(): { readonly nextTurn: number; readonly prefix: PrefixReading } {
    return { nextTurn: this.#turns + 1, prefix: this.#options.conversation.comparePrefix() }
  }

  /**
   * Requests a turn, which starts when the current turn has ended. Several requests during one turn cause only one more
   * turn.
   */
  requestTurn(update?: RegistryUpdate): void {
    if (this.#options.signal.aborted) return
    this.#wanted = this.#options.question ?? this.#chooseQuestion(update)
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when the current turn has ended. */
  async close(): Promise<void> {
    this.#wanted = undefined
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#wanted !== undefined && !this.#options.signal.aborted) {
      const question = this.#wanted
      this.#wanted = undefined
      await this.#takeTurn(question)
    }
  }

  async #takeTurn(question: string): Promise<void> {
    const { conversation, print, log, signal } = this.#options
    this.#turns++
    print.question(this.#turns, question)
    log.begin(this.#turns, question)
    try {
      for await (const event of conversation.stream(question, { signal })) this.#tell(event)
    } catch (thrown) {
      log.failed(toMessage(thrown))
      if (!signal.aborted) print.failure(toMessage(thrown))
    }
  }

  #tell(event: AgentEvent): void {
    const { print, log } = this.#options
    switch (event.kind) {
      case 'skills-updated':
        print.told(event.update)
        log.told(event.update)
        break
      case 'model-call':
        print.prefix(event.step, event.prefix)
        log.called(event.step, event.prefix)
        break
      case 'skill-invoked':
        print.toolCall(`/${event.name}`, { revision: shortDigest(event.revision) })
        break
      case 'tool-call':
        print.toolCall(event.name, event.input)
        break
      case 'finish':
        print.answer(event.text)
        log.answered(event.text)
        break
      case 'text':
      case 'reasoning':
      case 'tool-result':
      case 'model-answer':
      case 'compacted':
        break // skipped, because `finish` prints the whole answer
      default:
        event satisfies never
    }
  }

  #chooseQuestion(update: RegistryUpdate | undefined): string {
    const { conversation, skills } = this.#options
    const isInScope = createScopeTest(conversation.session.scope)
    const changed = update?.changes.find(change => change.kind !== 'removed' && isInScope(change.name))?.name
    const name = changed ?? skills.current.list().find(skill => isInScope(skill.name))?.name
    return name === undefined ? 'What can you do?' : `Use the skill "${name}".`
  }
}
