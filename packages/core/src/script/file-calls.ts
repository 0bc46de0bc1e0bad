import { SkillError } from '../errors.ts'
import { findMissing, type ScriptCapability } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import type { CodeRecords } from './code-records.ts'

interface FileCall {
  readonly skill: Skill
  readonly grants: readonly ScriptCapability[]
  readonly stop: AbortController
}

/** The running scripts that were started as files, not as commands. */
export class FileCalls {
  readonly #records: CodeRecords
  readonly #calls = new Set<FileCall>()

  constructor(records: CodeRecords) {
    this.#records = records
  }

  /** Runs a script. Aborts the script when one of its capabilities is revoked, or when the caller aborts. */
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

  /** Aborts running scripts whose permission was revoked. */
  endForbidden(): void {
    for (const { skill, grants, stop } of this.#calls)
      if (this.#records.isRejected(skill) || findMissing(grants, this.#records.grantedTo(skill)).length > 0)
        stop.abort(
          new SkillError('SCRIPT_REFUSED', `permission to run ${skill.name} was revoked while it ran`),
        )
  }
}
