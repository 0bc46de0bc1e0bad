import type { SkillRuntime } from '@skillstoke/core'
import type { SkillState, StoreFault } from '@skillstoke/core/source'

export interface StateWarningOptions {
  /**
   * Whether the runtime has a logger. If so, the logger reports the damage that was found when the state directory was
   * opened.
   */
  readonly hasLogger: boolean
  /**
   * Whether the command serves skills until it is stopped. A serving command reports faults of the store while it runs.
   */
  readonly serves: boolean
}

/** Prints each warning about the state directory only once, on standard error. */
export class StateWarnings {
  readonly #state: SkillState
  readonly #serves: boolean
  readonly #told = new Set<string>()

  /** Prints the damage that was found when the state directory was opened, unless a logger reports this damage. */
  constructor(state: SkillState, { hasLogger, serves }: StateWarningOptions) {
    this.#state = state
    this.#serves = serves
    if (hasLogger) for (const damage of this.#findDamage()) this.#told.add(damage)
    else this.#tell(this.#findDamage())
  }

  /**
   * Makes a runtime print later warnings when the runtime is closed. Some damage is found only when a database page is
   * read.
   */
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
  return isStoring ? message : `new revisions are not being stored: ${message}`
}
