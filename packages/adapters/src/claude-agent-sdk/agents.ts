import type { SkillScope } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { LiveConversation } from '../live-conversation.ts'
import { RecentMap } from '../recent-map.ts'

/** The part of a hook's input that tells which agent caused the event. */
interface ClaudeAgentEvent {
  /** Absent for the main agent. */
  readonly agent_id?: string
  readonly agent_type?: string
}

/** A tool call before it runs. */
export interface ClaudeCallEvent extends ClaudeAgentEvent {
  readonly tool_name: string
  readonly tool_use_id: string
  readonly tool_input: unknown
}

/** The main agent or a subagent, with the conversation that its model has. */
export interface ClaudeMember {
  readonly live: LiveConversation
  readonly isMain: boolean
  /** False for a subagent without a catalog, which receives notices only after it has loaded a skill. */
  readonly hasCatalog: boolean
}

interface Call {
  readonly caller: ClaudeMember
  /** The type of the subagent that this call will start; empty if the model named none. */
  startsType: string | undefined
}

/** The names of Claude Code's tool that starts a subagent. */
const START_TOOLS: readonly string[] = ['Agent', 'Task']

/**
 * Maximum number of open subagents. A subagent may go on after its end, so its conversation stays open until so many
 * others were active after it.
 */
const MAX_SUBAGENTS = 100

/** The agents of one Claude Code session. Each subagent has a conversation of its own. */
export class ClaudeAgents {
  readonly main: ClaudeMember
  readonly #scopes: ReadonlyMap<string, SkillScope>
  readonly #subagents = new RecentMap<ClaudeMember>(MAX_SUBAGENTS, ({ live }) => live.session.close())
  /** The tool calls of the batches that run now, by their ids. */
  readonly #calls = new Map<string, Call>()

  constructor(live: LiveConversation, scopes: Readonly<Record<string, SkillScope>>) {
    this.main = { live, isMain: true, hasCatalog: true }
    this.#scopes = new Map(Object.entries(scopes))
  }

  /** Returns the agent that caused an event. Opens a conversation for a subagent that is not known yet. */
  find(event: ClaudeAgentEvent): ClaudeMember {
    const { agent_id: id, agent_type: type = '' } = event
    if (id === undefined) return this.main
    const member = this.#subagents.get(id) ?? this.#open(id, type)
    this.#subagents.use(id, member)
    return member
  }

  #open(id: string, type: string): ClaudeMember {
    const scope = this.#scopes.get(type)
    const childId = `${this.main.live.session.id}/${id}`
    const live = this.#takeStarter(type).live.child({
      id: childId,
      // The tools of all agents of a query are the same.
      commandTools: false,
      ...defined({ scope }),
    })
    return { live, isMain: false, hasCatalog: scope !== undefined }
  }

  /** Records the agent that calls a tool. The tool itself receives only the id of the call. */
  noteCall(
    { tool_use_id: id, tool_name: tool, tool_input: input }: ClaudeCallEvent,
    caller: ClaudeMember,
  ): void {
    const { subagent_type: type } = (input ?? {}) as { readonly subagent_type?: unknown }
    const startsType = START_TOOLS.includes(tool) ? (typeof type === 'string' ? type : '') : undefined
    this.#calls.set(id, { caller, startsType })
  }

  /** Returns the agent that makes a tool call; `undefined` for an unknown call. */
  findCaller(toolUseId: string): ClaudeMember | undefined {
    return this.#calls.get(toolUseId)?.caller
  }

  endCalls(calls: readonly { readonly tool_use_id: string }[]): void {
    for (const { tool_use_id: id } of calls) this.#calls.delete(id)
  }

  /**
   * Returns the agent that starts a subagent of this type. Hooks do not name it. If several agents may have started the
   * subagent, a subagent comes before the main agent, because its scope is narrower.
   */
  #takeStarter(type: string): ClaudeMember {
    const starts = [...this.#calls.values()].filter(({ startsType }) => startsType !== undefined)
    const sameType = starts.filter(({ startsType }) => startsType === type)
    const candidates = sameType.length > 0 ? sameType : starts
    const start = candidates.find(({ caller }) => !caller.isMain) ?? candidates[0]
    if (start === undefined) return this.main
    start.startsType = undefined
    return start.caller
  }
}
