import { SkillError } from '../errors.ts'
import { findMissing, type ScriptCapability } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import type { CodeRecords } from './code-records.ts'

interface FileCall {
  readonly skill: Skill
  readonly grants: readonly ScriptCapability[]
  readonly stop: AbortController
}

/** Scripts that are no commands, while they run. */
export class FileCalls {
  readonly #records: CodeRecords
  readonly #calls = new Set<FileCall>()

  constructor(records: CodeRecords) {
    this.#records = records
  }

  /** Runs something that is ended when what it may do is taken back, or its caller does not want it any more. */
  async run<T>(
    { skill, grants }: Pick<FileCall, 'skill' | 'grants'>,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const call = { skill, grants, stop: new AbortController() }
    const onAbort = (): void => call.stop.abort(outer?.reason)
    if (outer?.aborted === true) onAbort()
    outer?.addEventListener('abort', onAbort, { once: true })
    this.#calls.add(call)
    try {
      return await work(call.stop.signal)
    } finally {
      this.#calls.delete(call)
      outer?.removeEventListener('abort', onAbort)
    }
  }

  /** Ends what is not allowed any more. */
  endForbidden(): void {
    for (const { skill, grants, stop } of this.#calls)
      if (this.#records.isRejected(skill) || findMissing(grants, this.#records.grantedTo(skill)).length > 0)
        stop.abort(new SkillError('SCRIPT_REFUSED', `what ${skill.name} may do was taken back while it ran`))
  }
}
