import type { LoopTool } from './tools.ts'
import type { LoopFormat } from './turn.ts'

/** The arguments of `ai.generate()` that a turn needs. Pass each tool through `ai.dynamicTool()`. */
export interface GenkitRequest<Message> {
  system: string
  messages: Message[]
  tools: GenkitTool[]
  /** Genkit returns tool calls instead of running them, so a notice can follow their results. */
  returnToolRequests: true
}

/** The argument of `ai.dynamicTool()`. */
interface GenkitTool {
  name: string
  description: string
  inputJsonSchema: Record<string, unknown>
}

/** A `GenerateResponse`, or the part of one that the loop uses. */
export interface GenkitAnswer {
  readonly message?: { toJSON(): object } | undefined
  readonly toolRequests: readonly { readonly toolRequest: GenkitCall }[]
  readonly finishReason: string
}

/** A tool call. Some model plugins give calls no `ref`, and match results by name and order. */
interface GenkitCall {
  readonly name: string
  readonly ref?: string | undefined
  readonly input?: unknown
}

/** Creates the format of `ai.generate()` of Genkit. */
export function createGenkitFormat<Message>(): LoopFormat<Message, GenkitRequest<Message>, GenkitAnswer> {
  return {
    toUserMessage: text => ({ role: 'user', content: [{ text }] }) as Message,
    append: (history, messages) => [...history, ...messages],
    endsInAnswer: () => false,
    toRequest: (system, messages, { list }) => ({
      system,
      messages: [...messages],
      tools: list.map(toGenkitTool),
      returnToolRequests: true,
    }),
    read: ({ message, toolRequests, finishReason }) => ({
      messages: message === undefined ? [] : [message.toJSON() as Message],
      calls: toolRequests.map(({ toolRequest: { name, ref = '', input } }) => ({
        ...{ id: ref, name, input },
        // Model plugins complete or clear an input that was cut off, so the call would run with a wrong input.
        ...(finishReason === 'length' && { fault: 'the answer was cut off, so the call did not run' }),
      })),
    }),
    toResults: outcomes => {
      const content = outcomes.map(({ id, name, content: output }) => ({
        toolResponse: { name, ...(id !== '' && { ref: id }), output },
      }))
      return content.length === 0 ? [] : [{ role: 'tool', content } as Message]
    },
  }
}

function toGenkitTool({ name, description = '', inputSchema }: LoopTool): GenkitTool {
  return { name, description, inputJsonSchema: { ...inputSchema } }
}
