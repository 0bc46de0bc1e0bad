import type { SkillStatus } from '../registry/generation.ts'
import type { SkillChange } from '../registry/registry-update.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Facet } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** Everything that may be told outside, by event name. */
export interface SkillEvents {
  'skill:added': { readonly skill: Skill }
  'skill:modified': { readonly oldSkill: Skill; readonly newSkill: Skill; readonly changed: readonly Facet[] }
  'skill:removed': { readonly skill: Skill }
  /** Two skills have one name: this one is not served. */
  'skill:shadowed': SkillProblem
  /** The newest text of a skill cannot be served; `serving` is the last good revision, if there is one. */
  'skill:error': SkillProblem
  /** Once for each new generation, after the events of its skills. */
  'skills:batch': {
    readonly generation: number
    readonly digest: Digest
    readonly changes: readonly SkillChange[]
  }
}

export interface SkillProblem {
  readonly name: string
  readonly source: string
  readonly location: string
  readonly status: SkillStatus
  readonly serving?: Digest
  readonly diagnostics: readonly Diagnostic[]
}

export type SkillEventName = keyof SkillEvents
export type SkillEventHandler<Name extends SkillEventName> = (
  payload: SkillEvents[Name],
) => void | Promise<void>

/** Where events go. The bus in this package stays in the process; another may carry them on. */
export interface EventBus {
  /** Returns a function that takes the handler off again. */
  on<Name extends SkillEventName>(name: Name, handler: SkillEventHandler<Name>): () => void
  /** Resolves when every handler is done; never rejects. */
  emit<Name extends SkillEventName>(name: Name, payload: SkillEvents[Name]): Promise<void>
}

export interface InProcessEventBusOptions {
  /** Told what a handler threw; the other handlers are called all the same. */
  readonly onHandlerError?: (error: unknown, name: SkillEventName) => void
}

/** Calls handlers one after the other, in the order in which they were added, waiting for asynchronous ones. */
export class InProcessEventBus implements EventBus {
  readonly #handlers = new Map<SkillEventName, Set<SkillEventHandler<never>>>()
  readonly #onHandlerError: (error: unknown, name: SkillEventName) => void

  constructor(options: InProcessEventBusOptions = {}) {
    this.#onHandlerError = options.onHandlerError ?? (() => undefined)
  }

  on<Name extends SkillEventName>(name: Name, handler: SkillEventHandler<Name>): () => void {
    const handlers = this.#handlers.get(name) ?? new Set()
    this.#handlers.set(name, handlers)
    // Wrapped, so that one function added twice is called twice and taken off one at a time.
    const wrapped: SkillEventHandler<Name> = payload => handler(payload)
    handlers.add(wrapped)
    return () => handlers.delete(wrapped)
  }

  async emit<Name extends SkillEventName>(name: Name, payload: SkillEvents[Name]): Promise<void> {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        await (handler as SkillEventHandler<Name>)(payload)
      } catch (thrown) {
        this.#onHandlerError(thrown, name)
      }
    }
  }
}
