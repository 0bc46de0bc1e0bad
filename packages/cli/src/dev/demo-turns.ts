import { createScopeTest, type RegistryUpdate, type SkillRuntime, type SkillScope } from '@skillstoke/core'
import { DEMO, type Playground } from '../server/playground.ts'
import type { DevPrinter } from './dev-printer.ts'

export interface DemoTurnsOptions {
  readonly playground: Playground
  readonly skills: SkillRuntime
  readonly scope: SkillScope | undefined
  readonly print: DevPrinter
  readonly signal: AbortSignal
  /** @default a request to use the skill that changed last */
  readonly question: string | undefined
}

/**
 * The turns of the demo agent: one for each question of the user, and one for each request that `dev` makes after a
 * change. Never runs two turns at the same time.
 */
export class DemoTurns {
  readonly #options: DemoTurnsOptions
  /** Questions of the user that wait for their turn. */
  readonly #asked: string[] = []
  /** The question that is asked when no question of the user waits. */
  #wanted: string | undefined
  #running: Promise<void> | undefined

  constructor(options: DemoTurnsOptions) {
    this.#options = options
  }

  /**
   * Requests a turn, which starts when the current turn has ended. Several requests during one turn cause only one more
   * turn.
   */
  requestTurn(update?: RegistryUpdate): void {
    this.#wanted = this.#options.question ?? this.#chooseQuestion(update)
    this.#start()
  }

  /** Asks a question of the user. Each question gets its own turn, before any turn that `requestTurn` requested. */
  ask(question: string): void {
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
    const { playground, print, signal } = this.#options
    for await (const event of playground.ask({ question, skill: undefined, conversation: DEMO, signal })) {
      if (event.kind === 'started') print.question(event.turn, question)
      else if (event.kind !== 'failed') print.happened(event)
      else if (!signal.aborted) print.failure(event.message)
    }
  }

  #chooseQuestion(update: RegistryUpdate | undefined): string {
    const { scope, skills } = this.#options
    const isInScope = createScopeTest(scope)
    const changed = update?.changes.find(change => change.kind !== 'removed' && isInScope(change.name))?.name
    const name = changed ?? skills.current.list().find(skill => isInScope(skill.name))?.name
    return name === undefined ? 'What can you do?' : `Use the skill "${name}".`
  }
}
