import type { SkillAgent } from '@skillstoke/agent'
import type { SpendingMeter } from './spending-meter.ts'

/** What happened when a model got one message in a new conversation. */
export interface TrialRun {
  /** Names of the skills that the model loaded, in the order of the loads. */
  readonly loaded: readonly string[]
  /** Names of the tools, commands and files that the model asked for. */
  readonly called: readonly string[]
  readonly text: string
  /** Number of model calls. */
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Duration in milliseconds. */
  readonly ms: number
}

/** One message to an agent. */
export interface Trial {
  readonly agent: SkillAgent
  readonly message: string
  /** Whether the turn ends with the first load of a skill. Scripts then never run. */
  readonly endsWithLoad: boolean
}

/**
 * Sends one message to the agent, in a conversation of its own. The record of the session decides what was loaded, and not
 * the words of the answer.
 */
export async function runTrial(
  { agent, message, endsWithLoad }: Trial,
  meter: SpendingMeter,
  signal: AbortSignal,
): Promise<TrialRun> {
  const start = performance.now()
  using conversation = agent.conversation()
  const called: string[] = []
  let [text, calls, inputTokens, outputTokens] = ['', 0, 0, 0]
  const listLoaded = (): readonly string[] => conversation.session.ledger.entries().map(({ name }) => name)
  for await (const event of conversation.stream(message, { signal })) {
    if (event.kind === 'text') text += event.delta
    else if (event.kind === 'tool-call') called.push(event.name, ...listTexts(event.input))
    else if (event.kind === 'model-call') {
      meter.takeCall()
      ;[text, calls] = ['', calls + 1]
    } else if (event.kind === 'model-answer') {
      meter.addUsage(event.usage)
      inputTokens += event.usage.inputTokens
      outputTokens += event.usage.outputTokens
      if (endsWithLoad && listLoaded().length > 0) break
    }
  }
  const ms = performance.now() - start
  return { loaded: listLoaded(), called, text, calls, inputTokens, outputTokens, ms }
}

/** Returns the texts in the input of a tool call, for example the id of a command. */
function listTexts(input: unknown): readonly string[] {
  return Object.values(input ?? {}).filter(each => typeof each === 'string')
}
