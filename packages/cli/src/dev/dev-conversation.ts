import type { AgentEvent, Conversation, PrefixReading } from '@skillstoke/agent'
import { createScopeTest, type RegistryUpdate, type SkillRuntime } from '@skillstoke/core'
import { shortDigest, toMessage } from '@skillstoke/core/internal'
import type { DevPrinter } from './dev-printer.ts'
import type { TurnLog } from './turn-log.ts'

export interface DevConversationOptions {
  /** Returns the conversation, and opens it if necessary. */
  readonly open: () => Conversation
  readonly skills: SkillRuntime
  readonly print: DevPrinter
  readonly log: TurnLog
  readonly signal: AbortSignal
  /** @default a request to use the skill that changed last */
  readonly question?: string
}

/**
 * The conversation of the demo agent. Runs a turn for each question of the user, and for each request that `dev` makes
 * after a change. Never runs two turns at the same time.
 */
export class DevConversation {
  readonly #options: DevConversationOptions
  #turns = 0
  /** Questions of the user that wait for their turn. */
  readonly #asked: string[] = []
  /** The question that is asked when no question of the user waits. */
  #wanted: string | undefined
  #running: Promise<void> | undefined

  constructor(options: DevConversationOptions) {
    this.#options = options
  }

  /**
   * Returns the number of the next turn, and compares the first model request of that turn with the last model request.
   */
  next(): { readonly nextTurn: number; readonly prefix: PrefixReading } {
    return { nextTurn: this.#turns + 1, prefix: this.#options.open().comparePrefix() }
  }

  /** Marks the conversation as used if it has begun, so that the agent does not close it to open another one. */
  keepOpen(): void {
    if (this.#turns > 0) this.#options.open()
  }

  /**
   * Requests a turn, which starts when the current turn has ended. Several requests during one turn cause only one more
   * turn.
   */
  requestTurn(update?: RegistryUpdate): void {
    if (this.#options.signal.aborted) return
    this.#wanted = this.#options.question ?? this.#chooseQuestion(update)
    this.#start()
  }

  /** Asks a question of the user. Each question gets its own turn, before any turn that `requestTurn` requested. */
  ask(question: string): void {
    if (this.#options.signal.aborted) return
    this.#asked.push(question)
    this.#start()
  }

  /** Resolves when the current turn has ended. */
  async close(): Promise<void> {
    this.#asked.length = 0
    this.#wanted = undefined
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    for (;;) {
      const asked = this.#asked.shift()
      const question = asked ?? this.#wanted
      if (question === undefined || this.#options.signal.aborted) return
      if (asked === undefined) this.#wanted = undefined
      await this.#takeTurn(question)
    }
  }

  async #takeTurn(question: string): Promise<void> {
    const { open, print, log, signal } = this.#options
    this.#turns++
    print.question(this.#turns, question)
    log.begin(this.#turns, question)
    try {
      for await (const event of open().stream(question, { signal })) {
        log.note(event)
        this.#print(event)
      }
    } catch (thrown) {
      log.failed(toMessage(thrown))
      if (!signal.aborted) print.failure(toMessage(thrown))
    }
  }

  #print(event: AgentEvent): void {
    const { print } = this.#options
    switch (event.kind) {
      case 'skills-updated':
        print.told(event.update)
        break
      case 'model-call':
        print.prefix(event.step, event.prefix)
        break
      case 'skill-invoked':
        print.toolCall(`/${event.name}`, { revision: shortDigest(event.revision) })
        break
      case 'tool-call':
        print.toolCall(event.name, event.input)
        break
      case 'finish':
        print.answer(event.text)
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
    const { open, skills } = this.#options
    const isInScope = createScopeTest(open().session.scope)
    const changed = update?.changes.find(change => change.kind !== 'removed' && isInScope(change.name))?.name
    const name = changed ?? skills.current.list().find(skill => isInScope(skill.name))?.name
    return name === undefined ? 'What can you do?' : `Use the skill "${name}".`
  }
}
