import { type SessionOptions, SkillError, type SkillRuntime, type SkillSession } from '@skillstoke/core'
import { defined, TOOL_NAMES } from '@skillstoke/core/internal'
import { OneAtATime } from '../one-at-a-time.ts'
import { RecentMap } from '../recent-map.ts'
import type { MastraMessage, MastraReader, MastraRequestContext, MastraToolContext } from './sdk.ts'
import { readThread, type ThreadPlace, type ThreadView } from './thread.ts'

type MastraSessionOptions = Omit<SessionOptions, 'id' | 'resume'>

/** The key of the session's id in the request context, where tools and subagents find it. */
export const SESSION_KEY = 'skillstoke'
const MAX_KEPT_SESSIONS = 1_000

/** Counts sessions that have no thread. */
let unnamed = 0

/** Returns an id for a session without a thread. */
export function nextSessionId(): string {
  return `mastra-${++unnamed}`
}

/** The conversation of one thread. Overlapping runs of the thread share it. */
export class MastraThread {
  readonly session: SkillSession
  readonly hooks: OneAtATime = new OneAtATime()
  /** The run whose messages the session knows. */
  #run: object | undefined

  constructor(session: SkillSession) {
    this.session = session
  }

  /** Makes the session know what the messages of a run prove, and nothing else. */
  async enter(run: object, { start, entries, loaded }: ThreadView): Promise<void> {
    if (this.#run === run) return
    if (start === undefined) await this.session.rebase({ maxTokens: 0 })
    this.session.replay(start ?? this.session.state(), start === undefined ? [...loaded.values()] : entries)
    this.#run = run
  }
}

/** The sessions of the threads of one scope. Each run continues the conversation that the messages prove. */
export class MastraSessions {
  readonly scope: string
  readonly #tools: ReadonlySet<string>
  readonly #skills: SkillRuntime
  readonly #options: MastraSessionOptions
  readonly #isChild: boolean
  readonly #own = new WeakSet<SkillSession>()
  /** The newest threads, because an open session keeps the old revisions of its skills for exact notices. */
  readonly #kept = new RecentMap<MastraThread>(MAX_KEPT_SESSIONS)

  constructor(skills: SkillRuntime, options: MastraSessionOptions, isChild: boolean) {
    this.scope = JSON.stringify(options.scope ?? {})
    this.#tools = new Set([options.skillToolName ?? TOOL_NAMES.loadSkill, TOOL_NAMES.readFile])
    this.#skills = skills
    this.#options = options
    this.#isChild = isChild
  }

  placeOf(threadId: string | undefined): ThreadPlace {
    return { scope: this.scope, threadId, tools: this.#tools }
  }

  /** Returns the session of the agent that called this agent as a subagent. */
  findParent(context: MastraRequestContext | undefined): SkillSession | undefined {
    const found = this.#find(context)
    return this.#isChild && found !== undefined && !this.#own.has(found) ? found : undefined
  }

  /** Opens the conversation of a thread, or returns it if a run of this process has opened it. */
  open({ threadId }: ThreadPlace, { start }: ThreadView, parent?: SkillSession): MastraThread {
    const options = { ...this.#options, id: threadId ?? nextSessionId() }
    const known = this.#kept.get(options.id)
    const isOpen = known !== undefined && !known.session.isClosed && known.session.parent === parent
    if (!isOpen) this.#findById(options.id)?.close()
    const all = { ...options, ...defined({ resume: start }) }
    const thread = isOpen ? known : new MastraThread(parent?.child(all) ?? this.#skills.session(all))
    this.#own.add(thread.session)
    this.#kept.use(thread.session.id, thread)
    return thread
  }

  /** Returns what the messages of a thread prove. */
  async read(
    messages: readonly MastraMessage[],
    place: ThreadPlace,
    memory: MastraReader | undefined,
  ): Promise<ThreadView> {
    const view = readThread(messages, place)
    if (view.isWhole || place.threadId === undefined || memory === undefined) return view
    // A memory processor may have removed older messages, which are still in the storage.
    return readThread(await recall(memory, place.threadId), place)
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
    const view = await this.read([], place, memory)
    const thread = this.open(place, view)
    await thread.enter({}, view)
    return thread.session
  }

  #find(context: MastraRequestContext | undefined): SkillSession | undefined {
    return this.#findById(context?.get(SESSION_KEY))
  }

  #findById(id: unknown): SkillSession | undefined {
    return this.#skills.sessions().find(session => session.id === id)
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
