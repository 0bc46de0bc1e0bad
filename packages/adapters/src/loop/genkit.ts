import type { LoopFormat } from './turn.ts'

/** The arguments of `ai.generate()` that a turn needs. Pass each tool through `ai.dynamicTool()`. */
export interface GenkitRequest<Message> {
  system: string
  messages: Message[]
  tools: { name: string; description: string; inputJsonSchema: Record<string, unknown> }[]
  /** Genkit returns tool calls instead of running them, so a notice can follow their results. */
  returnToolRequests: true
}

/** A `GenerateResponse`, or the part of one that the loop uses. */
export interface GenkitAnswer {
  readonly message?: { toJSON(): object } | undefined
  /** Some model plugins give calls no `ref`, and match results by name and order. */
  readonly toolRequests: { toolRequest: { name: string; ref?: string | undefined; input?: unknown } }[]
  readonly finishReason: string
}

/** Creates the format of `ai.generate()` of Genkit. */
export function createGenkitFormat<Message>(): LoopFormat<Message, GenkitRequest<Message>, GenkitAnswer> {
  return {
    toUserMessage: text => ({ role: 'user', content: [{ text }] }) as Message,
    append: (history, messages) => [...history, ...messages],
    endsInAnswer: () => false,
    toRequest: (system, history, { list }) => {
      const tools = list.map(({ name, description = '', inputSchema }) => {
        return { name, description, inputJsonSchema: { ...inputSchema } }
      })
      return { system, messages: [...history], tools, returnToolRequests: true }
    },
    read({ message, toolRequests, finishReason }) {
      // Model plugins complete or clear an input that was cut off, so the call would run with a wrong input.
      const cut = finishReason === 'length' && { fault: 'the answer was cut off, so the call did not run' }
      const calls = toolRequests.map(({ toolRequest: { name, ref = '', input } }) => {
        return { id: ref, name, input, ...cut }
      })
      return { messages: message === undefined ? [] : [message.toJSON() as Message], calls }
    },
    toResults(outcomes) {
      const content = outcomes.map(({ id, name, content: output }) => {
        return { toolResponse: { name, ...(id !== '' && { ref: id }), output } }
      })
      return content.length === 0 ? [] : [{ role: 'tool', content } as Message]
    },
  }
}
