import type { Digest } from '@skillstoke/core'
import {
  type DecisionStore,
  type FolderDecisions,
  type FolderPlace,
  MemoryDecisions,
  type SkillState,
} from '@skillstoke/core/source'

/**
 * Wraps the stored state for a trial. A trial serves another revision with a pin. Neither the pin, nor a step of the
 * history, nor the note which revision was served last may outlive the trial, because a restart would serve it.
 */
export function toTrialState(stored: SkillState): SkillState {
  const { decisions, history, store } = stored
  const refs = new Map<string, Digest | undefined>()
  return {
    ...stored,
    ...(decisions === undefined ? {} : { decisions: new TrialDecisions(decisions) }),
    ...(history === undefined ? {} : { history: replaceMethods(history, { append: async () => [] }) }),
    ...(store === undefined
      ? {}
      : {
          store: replaceMethods(store, {
            setRef: (name, revision) => void refs.set(name, revision),
            getRef: name => (refs.has(name) ? refs.get(name) : store.getRef(name)),
          }),
        }),
  }
}

/** Decisions for one trial. They are on top of the stored ones, and end with the process. */
class TrialDecisions extends MemoryDecisions {
  readonly #stored: DecisionStore

  constructor(stored: DecisionStore) {
    super()
    this.#stored = stored
  }

  override find(place: FolderPlace): FolderDecisions | undefined {
    return super.find(place) ?? this.#stored.find(place)
  }
}

/** Returns the object with some methods replaced. The other methods keep their private fields. */
function replaceMethods<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get: (_, key) => {
      const value: unknown = Reflect.get(methods, key) ?? Reflect.get(object, key, object)
      return typeof value === 'function' ? value.bind(object) : value
    },
  })
}
