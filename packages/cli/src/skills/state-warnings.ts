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

/**
 * Prints the damage that was found when the state directory was opened, unless a logger reports this damage. Returns a
 * function that makes a runtime print later warnings when it is closed, because some damage is found only when a
 * database page is read. Prints each warning only once, on standard error.
 */
export function warnAboutState(
  state: SkillState,
  { hasLogger, serves }: StateWarningOptions,
): (skills: SkillRuntime) => SkillRuntime {
  const told = new Set<string>()
  const tell = (messages: readonly (string | undefined)[], isPrinted: boolean): void => {
    for (const message of messages) {
      if (message === undefined || told.has(message)) continue
      told.add(message)
      if (isPrinted) process.stderr.write(`warning: ${message}\n`)
    }
  }
  const findDamage = (): (string | undefined)[] => [state.decisions?.damage, state.history?.damage]
  tell(findDamage(), !hasLogger)
  return skills => {
    const close = skills.close.bind(skills)
    skills.close = async () => {
      await close()
      const fault = serves ? undefined : state.store?.fault
      tell([...findDamage(), fault === undefined ? undefined : describeFault(fault)], true)
    }
    return skills
  }
}

function describeFault({ message, isStoring }: StoreFault): string {
  return isStoring ? message : `new revisions are not being stored: ${message}`
}
