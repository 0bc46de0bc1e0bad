import type { SkillRuntime } from '@skillstoke/core'
import type { SkillState, StoreFault } from '@skillstoke/core/source'

export interface StateWarningOptions {
  /** Whether the runtime has a logger, which it tells of the damage that was found when the state was opened. */
  readonly hasLogger: boolean
  /** Whether the command follows the runtime, and so reports what is wrong with the store by itself. */
  readonly serves: boolean
}

/** Warns on standard error of what is wrong with the state of a command, of each thing once. */
export class StateWarnings {
  readonly #state: SkillState
  readonly #serves: boolean
  readonly #told = new Set<string>()

  /** Warns at once of what was damaged when the state was opened. */
  constructor(state: SkillState, { hasLogger, serves }: StateWarningOptions) {
    this.#state = state
    this.#serves = serves
    if (hasLogger) for (const damage of this.#findDamage()) this.#told.add(damage)
    else this.#tell(this.#findDamage())
  }

  /** Makes a runtime warn of the rest once it is closed: a damaged page is met only when it is read or written. */
  tellRestWhenClosed(skills: SkillRuntime): SkillRuntime {
    const close = skills.close.bind(skills)
    skills.close = async () => {
      await close()
      const fault = this.#serves ? undefined : this.#state.store?.fault
      this.#tell([...this.#findDamage(), ...(fault === undefined ? [] : [describeFault(fault)])])
    }
    return skills
  }

  #findDamage(): readonly string[] {
    const { decisions, history } = this.#state
    return [decisions?.damage, history?.damage].filter(each => each !== undefined)
  }

  #tell(messages: readonly string[]): void {
    for (const message of messages) {
      if (this.#told.has(message)) continue
      this.#told.add(message)
      process.stderr.write(`warning: ${message}\n`)
    }
  }
}

function describeFault({ message, isStoring }: StoreFault): string {
  return isStoring ? message : `what is read is not being stored: ${message}`
}
