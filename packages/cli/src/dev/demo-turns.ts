import { createScopeTest, type RegistryUpdate, type SkillRuntime, type SkillScope } from '@skillstoke/core'
import { isModelInvocable } from '@skillstoke/core/internal'
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

/** The turns of the demo agent. Two turns never run at the same time. */
export interface DemoTurns {
  /**
   * Requests a turn, which starts when the current turn has ended. Several requests during one turn cause only one more
   * turn.
   */
  requestTurn(update?: RegistryUpdate): void
  /** Asks a question of the user. Each question gets its own turn, before any turn that `requestTurn` requested. */
  ask(question: string): void
  /** Resolves when the current turn has ended. */
  close(): Promise<void>
}

export function createDemoTurns(options: DemoTurnsOptions): DemoTurns {
  const { playground, skills, print, signal } = options
  /** Questions of the user that wait for their turn. */
  const asked: string[] = []
  /** The question that is asked when no question of the user waits. */
  let wanted: string | undefined
  let running: Promise<void> | undefined

  async function takeTurn(question: string): Promise<void> {
    for await (const event of playground.ask({ question, skill: undefined, conversation: DEMO, signal })) {
      if (event.kind === 'started') print.question(event.turn, question)
      else if (event.kind !== 'failed') print.happened(event)
      else if (!signal.aborted) print.failure(event.message)
    }
  }

  async function run(): Promise<void> {
    for (;;) {
      const first = asked.shift()
      const question = first ?? wanted
      if (question === undefined || signal.aborted) return
      if (first === undefined) wanted = undefined
      await takeTurn(question)
    }
  }

  const start = (): void => {
    running ??= run().finally(() => {
      running = undefined
    })
  }

  return {
    requestTurn: update => {
      // The approval of the first skill is a change, which requests a turn.
      if (skills.current.list().length === 0 && skills.review.pending().length > 0) return
      wanted = options.question ?? chooseQuestion(update, options)
      start()
    },
    ask: question => {
      asked.push(question)
      start()
    },
    close: async () => {
      asked.length = 0
      wanted = undefined
      await running
    },
  }
}

function chooseQuestion(update: RegistryUpdate | undefined, { scope, skills }: DemoTurnsOptions): string {
  const isInScope = createScopeTest(scope)
  const changed = update?.changes.find(change => change.kind !== 'removed' && isInScope(change.name))?.name
  const listed = skills.current.list().find(skill => isInScope(skill.name) && isModelInvocable(skill))
  const name = changed ?? listed?.name
  return name === undefined ? 'What can you do?' : `Use the skill "${name}".`
}
