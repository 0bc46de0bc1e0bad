import { defined, quote, toMessage } from '@skillstoke/core/internal'
import type { LoopCall, LoopTool } from './tools.ts'
import type { LoopFormat } from './turn.ts'

/** The arguments of `openai.chat.completions.create` that a turn needs. */
export interface OpenaiChatRequest<Message> {
  messages: Message[]
  tools: { type: 'function'; function: OpenaiFunction }[]
}

interface OpenaiFunction {
  name: string
  description?: string
  parameters: Record<string, unknown>
}

/** A `ChatCompletion`, or the part of one that the loop uses. */
export interface OpenaiChatAnswer {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null
      readonly tool_calls?: readonly ChatCall[] | undefined
    }
  }[]
}

/** A tool call in a `ChatCompletion`. Calls of custom tools have no `function`, and the loop does not run them. */
interface ChatCall {
  readonly id: string
  readonly type: string
  readonly function?: CalledFunction
}

interface CalledFunction {
  readonly name: string
  readonly arguments: string
}

/** The arguments of `openai.responses.create` that a turn needs. */
export interface OpenaiResponsesRequest<Item> {
  instructions: string
  input: Item[]
  tools: (OpenaiFunction & { type: 'function'; strict: false })[]
}

/** A `Response`, or the part of one that the loop uses. */
export interface OpenaiResponsesAnswer {
  readonly output: readonly { readonly type: string }[]
}

/** Creates the format of chat completions, which many model servers accept. */
export function createChatFormat<Message>(): LoopFormat<
  Message,
  OpenaiChatRequest<Message>,
  OpenaiChatAnswer
> {
  return {
    ...createPlainHistory<Message>(),
    toRequest: (system, messages, { list }) => ({
      messages: [...(system === '' ? [] : [{ role: 'system', content: system } as Message]), ...messages],
      tools: list.map(tool => ({ type: 'function', function: toFunction(tool) })),
    }),
    read: ({ choices: [choice] }) => ({
      messages: choice === undefined ? [] : [toInput({ role: 'assistant', ...choice.message }) as Message],
      calls: (choice?.message.tool_calls ?? []).flatMap(call =>
        call.function === undefined ? [] : [toCall(call.id, call.function)],
      ),
    }),
    toResults: outcomes =>
      outcomes.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }) as Message),
  }
}

/** Creates the format of the Responses API. Every request contains the whole history. */
export function createResponsesFormat<Item>(): LoopFormat<
  Item,
  OpenaiResponsesRequest<Item>,
  OpenaiResponsesAnswer
> {
  return {
    ...createPlainHistory<Item>(),
    toRequest: (instructions, input, { list }) => ({
      instructions,
      input: [...input],
      // The API makes tools strict by default, and then refuses optional fields.
      tools: list.map(tool => ({ type: 'function', ...toFunction(tool), strict: false })),
    }),
    read: ({ output }) => {
      const start = output.findLastIndex(({ type }) => type === 'compaction')
      const items = output.slice(Math.max(start, 0))
      return {
        messages: items.map(item => toInput(item) as Item),
        calls: items.filter(isFunctionCall).map(call => toCall(call.call_id, call)),
        isCompacted: start !== -1,
      }
    },
    toResults: outcomes =>
      outcomes.map(
        ({ id, content }) => ({ type: 'function_call_output', call_id: id, output: content }) as Item,
      ),
  }
}

/** Both APIs of OpenAI have the same messages of users, and accept a notice after every message. */
function createPlainHistory<Message>(): Pick<
  LoopFormat<Message, never, never>,
  'toUserMessage' | 'append' | 'endsInAnswer'
> {
  return {
    toUserMessage: content => ({ role: 'user', content }) as Message,
    append: (history, messages) => [...history, ...messages],
    endsInAnswer: () => false,
  }
}

function toFunction({ name, description, inputSchema }: LoopTool): OpenaiFunction {
  return { name, ...defined({ description }), parameters: { ...inputSchema } }
}

interface FunctionCall extends CalledFunction {
  readonly type: 'function_call'
  readonly call_id: string
}

function isFunctionCall(item: { readonly type: string }): item is FunctionCall {
  return item.type === 'function_call'
}

function toCall(id: string, called: CalledFunction): LoopCall {
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
