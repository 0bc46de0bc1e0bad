import { SkillError } from '../errors.ts'
import { type Capability, findMissing } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import type { SlotHost } from './program-slot.ts'

interface FileCall {
  readonly skill: Skill
  readonly grants: readonly Capability[]
  readonly stop: AbortController
}

/** Scripts that are no commands, while they run. */
export class FileCalls {
  readonly #host: Pick<SlotHost, 'grantedTo' | 'isRejected'>
  readonly #calls = new Set<FileCall>()

  constructor(host: Pick<SlotHost, 'grantedTo' | 'isRejected'>) {
    this.#host = host
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
    const { grantedTo, isRejected } = this.#host
    for (const { skill, grants, stop } of this.#calls)
      if (isRejected(skill) || findMissing(grants, grantedTo(skill)).length > 0)
        stop.abort(new SkillError('SCRIPT_REFUSED', `what ${skill.name} may do was taken back while it ran`))
  }
}
