import { generateText, type ModelMessage } from 'ai'
import type { ModelCall } from './model-call.ts'
import { type TokenUsage, toTokenUsage } from './token-usage.ts'

// About 50,000 tokens. A longer conversation is cut at its beginning, so that the summary call itself never overflows.
const MAX_CHARACTERS = 200_000
const MAX_PART_CHARACTERS = 4_000

const INSTRUCTIONS = `Summarize the conversation below for an assistant that continues it without seeing it.
Keep the goal of the user, decisions, facts, names, numbers and open tasks. Leave out the instructions of skills, because they are added to the summary. Write at most 500 words.`

/** Lets the model summarize the messages of a conversation. */
export async function summarize({
  model,
  messages,
  settings,
  maxRetries,
  signal,
}: Omit<ModelCall, 'system' | 'tools'>): Promise<{ readonly text: string; readonly usage: TokenUsage }> {
  // These settings shape the answers to the user. A summary has no tools, and needs its whole length.
  const { toolChoice: _, toolApproval: _a, maxOutputTokens: _m, stopSequences: _s, ...shared } = settings
  const { text, usage } = await generateText({
    ...shared,
    model,
    instructions: INSTRUCTIONS,
    prompt: renderTranscript(messages),
    abortSignal: signal,
    ...(maxRetries === undefined ? {} : { maxRetries }),
  })
  return { text, usage: toTokenUsage(usage) }
}

/** Renders messages as text, with tool calls and their results. */
export function renderTranscript(messages: readonly ModelMessage[]): string {
  const text = messages.map(({ role, content }) => `${role}: ${renderContent(content)}`).join('\n\n')
  return text.length <= MAX_CHARACTERS ? text : `[earlier messages left out]\n${text.slice(-MAX_CHARACTERS)}`
}

function renderContent(content: ModelMessage['content']): string {
  if (typeof content === 'string') return cut(content)
  return content
    .map(part => {
      switch (part.type) {
        case 'text':
          return cut(part.text)
        case 'tool-call':
          return cut(`[calls ${part.toolName} with ${JSON.stringify(part.input)}]`)
        case 'tool-result':
          return cut(`[${part.toolName} answered ${JSON.stringify(part.output)}]`)
        default:
          return `[${part.type}]`
      }
    })
    .join('\n')
}

function cut(text: string): string {
  return text.length <= MAX_PART_CHARACTERS ? text : `${text.slice(0, MAX_PART_CHARACTERS)} [cut]`
}
