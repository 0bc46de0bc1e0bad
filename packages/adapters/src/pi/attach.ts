import { assertNoClash, withoutNames } from '../skill-tools.ts'
import type { TrackedHistory } from '../tracked-history.ts'
import type { PiAgent, PiMessage, PiRefusal, PiTool, PiToolCall } from './sdk.ts'
import { toPiTool } from './tools.ts'
import { declareTools, prepareMessages } from './transcript.ts'

/**
 * Adds the skill tools and two hooks to an agent. Your hooks run first. Returns a function that removes what was added.
 * @throws {SkillError} INVALID_OPTION if a tool of the agent has the name of a skill tool
 */
export function attach(agent: PiAgent, history: TrackedHistory, tools: readonly PiTool[]): () => void {
  const { state, transformContext, beforeToolCall } = agent
  const { session } = history
  let isAttached = true

  // The SDK awaits it before each model call, and does not store what it returns.
  const prepare = async (messages: PiMessage[], signal?: AbortSignal): Promise<PiMessage[]> => {
    const given = (await transformContext?.(messages as never, signal)) ?? messages
    return isAttached && signal?.aborted !== true ? await prepareMessages(history, given) : given
  }
  const check = async (call: PiToolCall, signal?: AbortSignal): Promise<PiRefusal | undefined> => {
    const answer = await beforeToolCall?.(call as never, signal)
    if (!isAttached || answer?.block === true) return answer
    const reason = session.checkTool(call.toolCall.name, call.args)
    return reason === undefined ? answer : { block: true, reason }
  }

  assertNoClash(
    session,
    state.tools.map(({ name }) => name),
  )
  state.messages = declareTools(state.messages, tools)
  state.tools = [...state.tools, ...tools]
  // The SDK reads the tools at the start of a run.
  let commands: readonly PiTool[] = []
  const readCommands = (): void => {
    const names = state.tools.filter(tool => !commands.includes(tool)).map(({ name }) => name)
    const next = withoutNames(session.commandTools(), names).map(toPiTool)
    if (JSON.stringify(next) === JSON.stringify(commands)) return
    state.tools = [...state.tools.filter(tool => !commands.includes(tool)), ...next]
    commands = next
  }
  readCommands()
  const unsubscribe = agent.subscribe(({ type }) => {
    if (type === 'agent_end') readCommands()
  })
  agent.transformContext = prepare
  agent.beforeToolCall = check
  return () => {
    isAttached = false
    unsubscribe()
    // If you have wrapped a hook, it stays and does nothing more.
    if (agent.transformContext === prepare) agent.transformContext = transformContext
    if (agent.beforeToolCall === check) agent.beforeToolCall = beforeToolCall
    state.tools = state.tools.filter(tool => !tools.includes(tool) && !commands.includes(tool))
  }
}
