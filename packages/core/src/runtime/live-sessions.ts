import type { Conversation } from '../activation/conversation.ts'
import type { TokenCounter } from '../catalog/render-catalog.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { createScriptTools } from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import { type SessionHost, type SessionOptions, SkillSession } from '../session/skill-session.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillStore } from '../store/skill-store.ts'

export interface LiveSessionsOptions {
  readonly reader: SkillReader
  readonly scripts: SkillScripts
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly countTokens: TokenCounter
}

/** Creates conversations, and keeps the revisions they were given. A conversation that nothing refers to has ended. */
export class LiveSessions {
  readonly #options: LiveSessionsOptions
  readonly #host: SessionHost
  readonly #sessions = new Set<WeakRef<SkillSession>>()
  readonly #retained = new WeakMap<SkillSession, Set<Digest>>()
  readonly #finalizer: FinalizationRegistry<Set<Digest>>

  constructor(options: LiveSessionsOptions) {
    const { store, scripts, reader, hasher, countTokens } = options
    this.#options = options
    this.#finalizer = new FinalizationRegistry(revisions => {
      for (const revision of revisions) store.release(revision)
    })
    this.#host = {
      reader,
      hasher,
      countTokens,
      retain: (session, revision) => this.#retain(session, revision),
      ended: session => this.#end(session),
      scriptTools: (conversation: Conversation) =>
        scripts.canRun ? createScriptTools(conversation, scripts) : [],
    }
  }

  create(options: SessionOptions): SkillSession {
    const session = new SkillSession(this.#host, options)
    this.#sessions.add(new WeakRef(session))
    return session
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

  /** Takes a conversation off the list, and lets its revisions go. */
  #end(session: SkillSession): void {
    for (const reference of this.#sessions)
      if (reference.deref() === session) this.#sessions.delete(reference)
    const retained = this.#retained.get(session)
    if (retained === undefined) return
    for (const revision of retained) this.#options.store.release(revision)
    retained.clear()
  }

  /** Keeps a revision readable until nothing refers to the conversation any more. */
  #retain(session: SkillSession, revision: Digest): void {
    let retained = this.#retained.get(session)
    if (retained === undefined) {
      retained = new Set()
      this.#retained.set(session, retained)
      this.#finalizer.register(session, retained)
    }
    if (retained.has(revision)) return
    retained.add(revision)
    this.#options.store.retain(revision)
  }
}
