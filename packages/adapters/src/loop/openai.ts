import { quote, toMessage } from '@skillstoke/core/internal'
import type { LoopCall, LoopTool } from './tools.ts'
import type { LoopFormat } from './turn.ts'

/** The arguments of `openai.chat.completions.create` that a turn needs. */
export interface OpenaiChatRequest<Message> {
  messages: Message[]
  tools: OpenaiChatTool[]
}

export interface OpenaiChatTool {
  type: 'function'
  function: { name: string; description?: string; parameters: Record<string, unknown> }
}

/** A `ChatCompletion`, or the part of one that the loop uses. */
export interface OpenaiChatAnswer {
  readonly choices: readonly { readonly message: OpenaiChatAnswerMessage }[]
}

export interface OpenaiChatAnswerMessage {
  readonly content: string | null
  readonly tool_calls?: readonly OpenaiChatCall[] | undefined
}

/** A tool call in a `ChatCompletion`. Calls of custom tools have no `function`, and the loop does not run them. */
export interface OpenaiChatCall {
  readonly id: string
  readonly type: string
  readonly function?: { readonly name: string; readonly arguments: string }
}

/** The arguments of `openai.responses.create` that a turn needs. */
export interface OpenaiResponsesRequest<Item> {
  instructions: string
  input: Item[]
  tools: OpenaiResponsesTool[]
}

export interface OpenaiResponsesTool {
  type: 'function'
  name: string
  description?: string
  parameters: Record<string, unknown>
  strict: false
}

/** A `Response`, or the part of one that the loop uses. */
export interface OpenaiResponsesAnswer {
  readonly output: readonly { readonly type: string }[]
}

/** Creates the format of chat completions, which many model servers accept. */
export function createChatFormat<Message>(
  tools: readonly LoopTool[],
): LoopFormat<Message, OpenaiChatRequest<Message>, OpenaiChatAnswer> {
  const sent = tools.map((tool): OpenaiChatTool => ({ type: 'function', function: toFunction(tool) }))
  return {
    toUserMessage: content => ({ role: 'user', content }) as Message,
    append: (history, messages) => [...history, ...messages],
    endsInAnswer: () => false,
    toRequest: (system, messages) => ({
      messages: [...(system === '' ? [] : [{ role: 'system', content: system } as Message]), ...messages],
      tools: [...sent],
    }),
    read: ({ choices: [choice] }) => ({
      messages: choice === undefined ? [] : [toInput({ role: 'assistant', ...choice.message }) as Message],
      calls: (choice?.message.tool_calls ?? []).flatMap(call =>
        call.function === undefined ? [] : [toCall(call.id, call.function)],
      ),
      isCompacted: false,
      isPaused: false,
    }),
    toResults: outcomes =>
      outcomes.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }) as Message),
  }
}

/** Creates the format of the Responses API. Every request contains the whole history. */
export function createResponsesFormat<Item>(
  tools: readonly LoopTool[],
): LoopFormat<Item, OpenaiResponsesRequest<Item>, OpenaiResponsesAnswer> {
  // The API makes tools strict by default, and then refuses optional fields.
  const sent = tools.map(
    (tool): OpenaiResponsesTool => ({ type: 'function', ...toFunction(tool), strict: false }),
  )
  return {
    toUserMessage: content => ({ role: 'user', content }) as Item,
    append: (history, items) => [...history, ...items],
    endsInAnswer: () => false,
    toRequest: (instructions, input) => ({ instructions, input: [...input], tools: [...sent] }),
    read: ({ output }) => {
      const start = output.findLastIndex(({ type }) => type === 'compaction')
      const items = output.slice(Math.max(start, 0))
      return {
        messages: items.map(item => toInput(item) as Item),
        calls: items.filter(isFunctionCall).map(call => toCall(call.call_id, call)),
        isCompacted: start !== -1,
        isPaused: false,
      }
    },
    toResults: outcomes =>
      outcomes.map(
        ({ id, content }) => ({ type: 'function_call_output', call_id: id, output: content }) as Item,
      ),
  }
}

function toFunction({ name, description, inputSchema }: LoopTool): OpenaiChatTool['function'] {
  return { name, ...(description === undefined ? {} : { description }), parameters: { ...inputSchema } }
}

interface FunctionCall {
  readonly type: 'function_call'
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

function isFunctionCall(item: { readonly type: string }): item is FunctionCall {
  return item.type === 'function_call'
}

function toCall(id: string, called: { readonly name: string; readonly arguments: string }): LoopCall {
  const { name } = called
  try {
    return { id, name, input: called.arguments.trim() === '' ? {} : JSON.parse(called.arguments) }
  } catch (thrown) {
    const fault = `the arguments of ${quote(name)} are not JSON (${toMessage(thrown)}); call the tool again`
    return { id, name, input: undefined, fault }
  }
}

/** Fields that the API or the SDK adds to an answer, and that the API refuses in a request. */
const OUTPUT_FIELDS: ReadonlySet<string> = new Set(['parsed', 'parsed_arguments', 'created_by'])

function toInput(answer: object): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) => (OUTPUT_FIELDS.has(key) ? undefined : value))
  return JSON.parse(text)
}
