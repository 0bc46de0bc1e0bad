import { statSync } from 'node:fs'
import { join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { openDecisions, openState } from '@skillstoke/core/node'
import { MemoryDecisions, MemorySkillStore, type SkillState, type StoreFault } from '@skillstoke/core/source'

/** The state for a command, and whether it is in the state directory. */
export interface KnownState {
  readonly state: SkillState
  readonly isStored: boolean
}

/**
 * Opens the state directory. If that fails and `isNeeded` is false, the command continues in memory, and each source
 * reports the reason. The decisions are the exception: the command fails if earlier decisions may exist that it cannot
 * read, because it could serve a disabled skill, and new decisions are refused.
 */
export async function openKnownState(directory: string, isNeeded: boolean): Promise<KnownState> {
  try {
    return { state: await openState(directory), isStored: true }
  } catch (thrown) {
    if (isNeeded) throw thrown
    const reason = toMessage(thrown)
    const decisions = await openDecisions(directory).catch((failure: unknown) => {
      if (mayHaveDecisions(directory)) throw failure
      return new RefusingDecisions(reason)
    })
    return { state: { store: new UnstoredSkills(reason), decisions }, isStored: false }
  }
}

/** Returns false only if the file system says that there are no decisions. */
function mayHaveDecisions(directory: string): boolean {
  try {
    return statSync(join(directory, 'decisions.sqlite'), { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

class UnstoredSkills extends MemorySkillStore {
  readonly fault: StoreFault

  constructor(reason: string) {
    super()
    this.fault = { message: reason, isStoring: false }
  }
}

class RefusingDecisions extends MemoryDecisions {
  readonly #reason: string

  constructor(reason: string) {
    super()
    this.#reason = reason
  }

  override async record(): Promise<void> {
    throw new SkillError('IO_FAILED', `the decision cannot be stored: ${this.#reason}; nothing was decided`)
  }
}
