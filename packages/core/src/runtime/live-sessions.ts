import type { SkillSession } from '../session/skill-session.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillStore } from '../store/skill-store.ts'

/** The conversations in use, and what is kept readable for them. Whoever forgets a conversation has ended it. */
export class LiveSessions {
  readonly #store: SkillStore
  readonly #sessions = new Set<WeakRef<SkillSession>>()
  readonly #retained = new WeakMap<SkillSession, Set<Digest>>()
  readonly #finalizer: FinalizationRegistry<Set<Digest>>

  constructor(store: SkillStore) {
    this.#store = store
    this.#finalizer = new FinalizationRegistry(revisions => {
      for (const revision of revisions) store.release(revision)
    })
  }

  add(session: SkillSession): void {
    this.#sessions.add(new WeakRef(session))
  }

  list(): readonly SkillSession[] {
    const alive: SkillSession[] = []
    for (const reference of this.#sessions) {
      const session = reference.deref()
      if (session === undefined) this.#sessions.delete(reference)
      else alive.push(session)
    }
    return alive
  }

  /** Takes a conversation off the list and lets go of what it was given. */
  end(session: SkillSession): void {
    for (const reference of this.#sessions)
      if (reference.deref() === session) this.#sessions.delete(reference)
    const retained = this.#retained.get(session)
    if (retained === undefined) return
    for (const revision of retained) this.#store.release(revision)
    retained.clear()
  }

  /** What a conversation was given stays readable until nobody holds the conversation any more. */
  retain(session: SkillSession, revision: Digest): void {
    let retained = this.#retained.get(session)
    if (retained === undefined) {
      retained = new Set()
      this.#retained.set(session, retained)
      this.#finalizer.register(session, retained)
    }
    if (retained.has(revision)) return
    retained.add(revision)
    this.#store.retain(revision)
  }
}
