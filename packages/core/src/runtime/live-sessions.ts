import type { Conversation } from '../activation/conversation.ts'
import { RetainedRevisions } from '../activation/retained-revisions.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { createCommandTools, createScriptTools } from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import type { SessionHost } from '../session/session-host.ts'
import { checkSessionOptions, type SessionOptions } from '../session/session-options.ts'
import { SkillSession } from '../session/skill-session.ts'
import { toToolName } from '../skill/tool-name.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { SkillUses } from './skill-uses.ts'

export interface LiveSessionsOptions extends Pick<SessionHost, 'reader' | 'hasher' | 'seal' | 'countTokens'> {
  readonly scripts: SkillScripts
  readonly store: SkillStore
  readonly uses: SkillUses
}

/**
 * Opens sessions, and retains the revisions that their conversations received. Hosts should close sessions. If a
 * session is dropped without `close()`, its id stays in use until the garbage collector runs or its state is resumed.
 */
export class LiveSessions {
  readonly #options: LiveSessionsOptions
  readonly #host: SessionHost
  /** Open sessions by id. */
  readonly #sessions = new Map<string, WeakRef<SkillSession>>()
  readonly #finalizer: FinalizationRegistry<RetainedRevisions>

  constructor(options: LiveSessionsOptions) {
    const { scripts, uses } = options
    this.#options = options
    this.#finalizer = new FinalizationRegistry(retained => {
      retained.release()
      this.list() // also frees the ids of collected sessions
    })
    this.#host = {
      ...options,
      openChild: (options, parent) => this.create(options, parent),
      ended: session => this.#end(session),
      used: uses.used,
      missed: uses.missed,
      offered: uses.offered,
      scriptTools: (conversation: Conversation) =>
        scripts.canRun ? createScriptTools(conversation, scripts) : [],
      commandTools: (conversation: Conversation) =>
        createCommandTools(conversation, scripts, ({ skill, name }) =>
          toToolName(skill, name, options.hasher),
        ),
    }
  }

  /**
   * @throws {SkillError} INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id and no state is resumed
   */
  create(options: SessionOptions, parent?: SkillSession): SkillSession {
    checkSessionOptions(options)
    const other = this.#sessions.get(options.id)?.deref()
    // A resumed state replaces an open session with the same id, because the host may have dropped that session without
    // closing it.
    if (other !== undefined && (options.resume === undefined || isAncestor(other, parent)))
      throw createDuplicate(options.id)
    const retained = new RetainedRevisions(this.#options.store)
    const session = new SkillSession(this.#host, options, retained, parent)
    this.#finalizer.register(session, retained)
    other?.close()
    this.#sessions.set(session.id, new WeakRef(session))
    return session
  }

  list(): readonly SkillSession[] {
    const alive: SkillSession[] = []
    for (const [id, reference] of this.#sessions) {
      const session = reference.deref()
      if (session === undefined) this.#sessions.delete(id)
      else alive.push(session)
    }
    return alive
  }

  /** Removes a session from the list, and closes its children. */
  #end(session: SkillSession): void {
    if (this.#sessions.get(session.id)?.deref() === session) this.#sessions.delete(session.id)
    for (const child of this.list()) if (child.parent === session) child.close()
  }
}

function isAncestor(session: SkillSession, child: SkillSession | undefined): boolean {
  return child !== undefined && (child === session || isAncestor(session, child.parent))
}

function createDuplicate(id: string): SkillError {
  const shown = quote(id)
  return new SkillError(
    'DUPLICATE_SESSION',
    `the session ${shown} is already open; close() it first, pass its stored state as "resume", or use another id`,
    { data: { id } },
  )
}
