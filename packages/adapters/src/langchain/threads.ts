import type { RebaseOptions, SessionOptions, SkillRuntime, SkillScope, SkillSession } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { intersectScopes } from '../live-conversation.ts'
import { RecentMap } from '../recent-map.ts'
import type { LangChainGraphState } from './messages.ts'
import type { LangChainStore } from './starts.ts'
import { LangChainThread } from './thread.ts'

/** The part of LangChain's runtime that the adapter uses. */
export interface LangChainRuntime {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  /** The store of the agent, if the host gave it one. */
  readonly store?: LangChainStore | undefined
}

/** The options of the sessions that the conversations of one factory share. */
type SharedOptions = Omit<SessionOptions, 'id' | 'resume'>

/** Closed conversations are opened again from their checkpoints. */
const MAX_OPEN = 1_000

/** The open conversations of the agents that share a factory. */
export class LangChainThreads {
  readonly #skills: SkillRuntime
  readonly #options: SharedOptions
  readonly #rebase: RebaseOptions | undefined
  /** The conversations by id. */
  readonly #open = new RecentMap<LangChainThread>(MAX_OPEN, ({ session }) => session.close())

  constructor(skills: SkillRuntime, options: SharedOptions, rebase: RebaseOptions | undefined) {
    this.#skills = skills
    this.#options = options
    this.#rebase = rebase
  }

  /** Returns the conversation of a thread. */
  at(runtime: LangChainRuntime, state: LangChainGraphState, scope: SkillScope | undefined): LangChainThread {
    const path = pathOf(runtime, state)
    const id = path.join('/')
    const known = this.#open.get(id)
    const thread = known === undefined || known.session.isClosed ? this.#start(path, state, scope) : known
    this.#open.use(id, thread)
    return thread
  }

  /** Closes a conversation that ends with its run: of a subagent, or of a run without `thread_id`. */
  end(runtime: LangChainRuntime, state: LangChainGraphState): void {
    const path = pathOf(runtime, state)
    if (path.length > 1) this.#open.drop(path.join('/'))
  }

  #start(path: readonly string[], state: LangChainGraphState, own: SkillScope | undefined): LangChainThread {
    const { scope: shared, ...options } = this.#options
    const scope = intersectScopes(shared, own)
    const { _skillstoke: stored } = state
    const all = { ...options, id: path.join('/'), ...defined({ scope, resume: stored?.session }) }
    const parent = this.#findParent(path)
    const session = parent === undefined ? this.#skills.session(all) : parent.child(all)
    return new LangChainThread(session, this.#rebase)
  }

  /** Returns the session of the agent that runs a subagent as a tool. */
  #findParent(path: readonly string[]): SkillSession | undefined {
    for (let length = path.length - 1; length > 0; length--) {
      const parent = this.#open.get(path.slice(0, length).join('/'))
      if (parent !== undefined) return parent.session
    }
    return undefined
  }
}

/** Returns the name of the task in which a hook runs. Each step of a graph has other tasks. */
export function taskOf({ configurable }: LangChainRuntime): string {
  const task = configurable?.['checkpoint_ns']
  return typeof task === 'string' ? task : ''
}

/** Returns the parts of the id of a conversation: the thread, then the graph of each subagent on the way to it. */
function pathOf(runtime: LangChainRuntime, { _skillstoke: stored }: LangChainGraphState): readonly string[] {
  const thread = runtime.configurable?.['thread_id']
  const graphs = taskOf(runtime).split('|').slice(0, -1)
  if (typeof thread === 'string') return [thread, ...graphs]
  return ['run', ...(graphs.length > 0 ? graphs : [stored?.origin ?? taskOf(runtime)])]
}
