import { type SessionOptions, SkillError, type SkillRuntime, type SkillSession } from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import type { MastraMessage, MastraReader, MastraRequestContext } from './sdk.ts'
import { readThread, type ThreadPlace, type ThreadView } from './thread.ts'
import type { MastraToolContext } from './tools.ts'

export type MastraSessionOptions = Omit<SessionOptions, 'id' | 'resume'>

/** The key of the session's id in the request context, where tools and subagents find it. */
const SESSION_KEY = 'skillstoke'
const MAX_KEPT_SESSIONS = 1_000

/** Counts sessions that have no thread. */
let unnamed = 0

/** Returns an id for a session without a thread. */
export function nextSessionId(): string {
  return `mastra-${++unnamed}`
}

/** The conversation of a run: its thread, and what its messages prove. */
export interface MastraConversation {
  readonly place: ThreadPlace
  readonly view: ThreadView
  readonly memory: MastraReader | undefined
  readonly parent?: SkillSession | undefined
}

/** The sessions of the threads of one scope. Each run continues the conversation that the messages prove. */
export class MastraSessions {
  readonly scope: string
  readonly loadTool: string
  readonly #tools: ReadonlySet<string>
  readonly #skills: SkillRuntime
  readonly #options: MastraSessionOptions
  readonly #isChild: boolean
  readonly #own = new WeakSet<SkillSession>()
  /** The newest sessions, because an open session keeps the old revisions of its skills for exact notices. */
  readonly #kept = new Map<string, SkillSession>()

  constructor(skills: SkillRuntime, options: MastraSessionOptions, isChild: boolean) {
    this.scope = JSON.stringify(options.scope ?? {})
    this.loadTool = options.skillToolName ?? TOOL_NAMES.loadSkill
    const { readFile, runCommand, runScript } = TOOL_NAMES
    this.#tools = new Set([this.loadTool, readFile, runCommand, runScript])
    this.#skills = skills
    this.#options = options
    this.#isChild = isChild
  }

  placeOf(threadId: string | undefined): ThreadPlace {
    return { scope: this.scope, threadId, tools: this.#tools }
  }

  /** Tells tools and subagents of this request which session is theirs. */
  hand(session: SkillSession, context: MastraRequestContext | undefined): void {
    context?.set(SESSION_KEY, session.id)
  }

  /** Returns the session of the agent that called this agent as a subagent. */
  findParent(context: MastraRequestContext | undefined): SkillSession | undefined {
    const found = this.#find(context)
    return this.#isChild && found !== undefined && !this.#own.has(found) ? found : undefined
  }

  /** Opens the session of a run. */
  async open({ place, view, memory, parent }: MastraConversation): Promise<SkillSession> {
    const { threadId } = place
    const needsStorage = view.state === undefined && threadId !== undefined && memory !== undefined
    // A memory processor may have removed older messages, which are still in the storage.
    const known = needsStorage ? readThread(await recall(memory, threadId), place) : view
    const { state, ledger, seen } = known
    const resume = state && known.start
    const options = { ...this.#options, id: threadId ?? nextSessionId(), ...(resume && { resume }) }
    if (resume === undefined) this.#findById(options.id)?.close()
    const session = parent?.child(options) ?? this.#skills.session(options)
    // Messages prove what followed the start. Only the start has a seal.
    if (state !== undefined || ledger.length > 0)
      session.revert(state ?? { ...session.state(), ledger, seen })
    this.#keep(session)
    return session
  }

  /**
   * Returns the session in which a tool is called. After a person approved a call in another process, no session is
   * open yet.
   */
  async ofCall({ requestContext, agent, memory }: MastraToolContext): Promise<SkillSession> {
    const open = this.#find(requestContext)
    if (open !== undefined) return open
    if (agent?.threadId === undefined || !isReader(memory))
      throw new SkillError(
        'INVALID_OPTION',
        'the agent lacks the processor of the skills; add it to "inputProcessors"',
      )
    const place = this.placeOf(agent.threadId)
    return await this.open({ place, view: readThread([], place), memory })
  }

  #find(context: MastraRequestContext | undefined): SkillSession | undefined {
    return this.#findById(context?.get(SESSION_KEY))
  }

  #findById(id: unknown): SkillSession | undefined {
    return this.#skills.sessions().find(session => session.id === id)
  }

  #keep(session: SkillSession): void {
    this.#own.add(session)
    this.#kept.delete(session.id)
    this.#kept.set(session.id, session)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT_SESSIONS && oldest !== undefined) this.#kept.delete(oldest)
  }
}

/** The value `MastraMemory` of the request context. */
interface MemoryContext {
  readonly thread?: { readonly id: string }
  readonly runState?: () => { readonly memory: object } | undefined
}

/** Returns the thread of a request, and the memory that stores the thread. */
export function readMemory(context: MastraRequestContext | undefined): {
  readonly threadId: string | undefined
  readonly memory: MastraReader | undefined
} {
  const { thread, runState } = (context?.get('MastraMemory') ?? {}) as MemoryContext
  const memory = runState?.()?.memory
  return { threadId: thread?.id, memory: isReader(memory) ? memory : undefined }
}

function isReader(memory: unknown): memory is MastraReader {
  return typeof memory === 'object' && memory !== null && 'recall' in memory
}

/** Returns all stored messages of a thread. */
export async function recall(memory: MastraReader, threadId: string): Promise<readonly MastraMessage[]> {
  return (await memory.recall({ threadId, perPage: false, hideSignals: false })).messages
}
