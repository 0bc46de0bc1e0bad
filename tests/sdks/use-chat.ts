import { type AiSdkChat, toAiTools } from '@skillstoke/adapters/ai-sdk'
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  consumeStream,
  convertToModelMessages,
  createUIMessageStreamResponse,
  DefaultChatTransport,
  experimental_createSteering,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  toUIMessageStream,
  type UIMessage,
} from 'ai'

/** What `useChat` keeps in the state of React. */
class PageState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[]

  constructor(messages: readonly UIMessage[]) {
    this.messages = structuredClone([...messages])
  }

  pushMessage(message: UIMessage): void {
    this.messages = [...this.messages, message]
  }

  popMessage(): void {
    this.messages = this.messages.slice(0, -1)
  }

  replaceMessage(index: number, message: UIMessage): void {
    this.messages = this.messages.with(index, structuredClone(message))
  }

  snapshot<Value>(value: Value): Value {
    return structuredClone(value)
  }
}

export interface UseChatOptions extends Pick<ChatInit<UIMessage>, 'sendAutomaticallyWhen'> {
  readonly answer: (request: Request) => Promise<Response>
  readonly messages?: readonly UIMessage[]
}

/** The client of `useChat`, without React. Its requests go to a function instead of a server. */
export class UseChat extends AbstractChat<UIMessage> {
  constructor({ answer, messages = [], ...options }: UseChatOptions) {
    const fetch: typeof globalThis.fetch = async (input, init) => await answer(new Request(input, init))
    const transport = new DefaultChatTransport({ api: 'http://page.test/api/chat', fetch })
    super({ ...options, id: 'page', transport, state: new PageState(messages) })
  }
}

export interface Route {
  readonly chat: AiSdkChat<ModelMessage>
  readonly model: LanguageModel
  readonly tools: ToolSet
  /** True for a server that finishes an answer after the page has stopped it. @default false */
  readonly goesOn?: boolean
}

/** Answers a request of `useChat`, as the page about `useChat` says. */
export async function answerPage(route: Route, request: Request): Promise<Response> {
  const { chat, model, tools, goesOn = false } = route
  const { messages: originalMessages } = (await request.json()) as { messages: UIMessage[] }
  const all = { ...tools, ...toAiTools(chat.session.tools) }
  const messages = await convertToModelMessages(originalMessages, {
    tools: all,
    ignoreIncompleteToolCalls: true,
  })
  const call = await chat.ui(messages, { tools, steering: experimental_createSteering() })
  const onError = (): undefined => undefined // the page shows the error
  const { stream } = streamText({
    ...{ model, stopWhen: stepCountIs(9), maxRetries: 0, onError },
    ...(goesOn ? {} : { abortSignal: request.signal }),
    ...call,
  })
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({ stream, tools: all, originalMessages }),
    ...(goesOn && { consumeSseStream: consumeStream }),
  })
}
