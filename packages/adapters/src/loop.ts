// `@skillstoke/adapters/loop`: live skills in your own loop over the plain clients of OpenAI and Anthropic, and over Genkit.

import type { SkillRuntime } from '@skillstoke/core'
import { checkOptions, oneOf } from '@skillstoke/core/internal'
import {
  type AnthropicAnswer,
  type AnthropicMessage,
  type AnthropicRequest,
  CACHE_TTLS,
  type CacheTtl,
  createAnthropicFormat,
} from './loop/anthropic.ts'
import { LoopConversation, type LoopOptions } from './loop/conversation.ts'
import { createGenkitFormat, type GenkitAnswer, type GenkitRequest } from './loop/genkit.ts'
import {
  createChatFormat,
  createResponsesFormat,
  type OpenaiChatAnswer,
  type OpenaiChatRequest,
  type OpenaiResponsesAnswer,
  type OpenaiResponsesRequest,
} from './loop/openai.ts'

export { type AnthropicAnswer, type AnthropicRequest, followToolRunner } from './loop/anthropic.ts'
export type { LoopConversation, LoopOptions, LoopState } from './loop/conversation.ts'
export type {
  OpenaiChatAnswer,
  OpenaiChatRequest,
  OpenaiResponsesAnswer,
  OpenaiResponsesRequest,
} from './loop/openai.ts'
export type { LoopTool } from './loop/tools.ts'
export type { LoopTurn } from './loop/turn.ts'

interface AnthropicLoopOptions<Message> extends LoopOptions<Message> {
  /** How long the API keeps a cached prefix after its last use. @default '5m' */
  readonly cacheTtl?: CacheTtl
}

/**
 * Opens a conversation with live skills for the chat completions of OpenAI, which many model servers accept. Pass the
 * message type of the client as type argument, for example `OpenAI.ChatCompletionMessageParam`.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION, CLOSED
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { openaiChatLoop } from '@skillstoke/adapters/loop'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = openaiChatLoop(skills, { id: 'chat-1', instructions: 'You help.' })
 * const turn = await chat.turn('Hello.')
 * const { messages, tools } = await turn.request() // the arguments of openai.chat.completions.create()
 * console.log(messages.length, tools.length > 0) // prints 2 true
 * console.log(await turn.answer({ choices: [{ message: { content: 'Good morning.' } }] })) // prints false
 * turn.keep()
 * ```
 */
export function openaiChatLoop<Message = object>(
  skills: SkillRuntime,
  options: LoopOptions<Message>,
): LoopConversation<Message, OpenaiChatRequest<Message>, OpenaiChatAnswer> {
  return LoopConversation.open(skills, options, createChatFormat<Message>())
}

/**
 * Opens a conversation with live skills for the Responses API of OpenAI. Every request contains the whole history. Pass
 * the item type of the client as type argument, for example `OpenAI.Responses.ResponseInputItem`.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION, CLOSED
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { openaiResponsesLoop } from '@skillstoke/adapters/loop'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = openaiResponsesLoop(skills, { id: 'chat-1', instructions: 'You help.' })
 * const turn = await chat.turn('Use the skill "support-pdf".')
 * const { input } = await turn.request() // the arguments of openai.responses.create()
 * const call = { type: 'function_call', call_id: 'c1', name: 'skill', arguments: '{"name":"support-pdf"}' }
 * console.log(input.length, await turn.answer({ output: [call] })) // prints 1 true
 * ```
 */
export function openaiResponsesLoop<Item = object>(
  skills: SkillRuntime,
  options: LoopOptions<Item>,
): LoopConversation<Item, OpenaiResponsesRequest<Item>, OpenaiResponsesAnswer> {
  return LoopConversation.open(skills, options, createResponsesFormat<Item>())
}

/**
 * Opens a conversation with live skills for the Messages API of Anthropic. Each request has cache breakpoints at the
 * end of the tools, of the system text and of the messages. Pass the message type of the client as type argument, for
 * example `Anthropic.MessageParam`.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION, CLOSED
 *
 * @example
 * ```ts
 * import type Anthropic from '@anthropic-ai/sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { anthropicLoop } from '@skillstoke/adapters/loop'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = anthropicLoop<Anthropic.MessageParam>(skills, { id: 'chat-1', cacheTtl: '1h' })
 * const turn = await chat.turn('Hello.')
 * const { cache_control } = await turn.request() // the arguments of anthropic.messages.create()
 * console.log(cache_control.ttl) // prints 1h
 * ```
 */
export function anthropicLoop<Message extends AnthropicMessage = AnthropicMessage>(
  skills: SkillRuntime,
  { cacheTtl = '5m', ...options }: AnthropicLoopOptions<Message>,
): LoopConversation<Message, AnthropicRequest<Message>, AnthropicAnswer> {
  checkOptions('anthropicLoop()', { cacheTtl }, { cacheTtl: oneOf(CACHE_TTLS) })
  return LoopConversation.open(skills, options, createAnthropicFormat<Message>(cacheTtl))
}

/**
 * Opens a conversation with live skills for `ai.generate()` of Genkit. Your loop runs between the model calls, so pass
 * the tools of each request through `ai.dynamicTool()`. Pass `MessageData` of Genkit as type argument.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION, CLOSED
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { genkitLoop } from '@skillstoke/adapters/loop'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = genkitLoop(skills, { id: 'chat-1', instructions: 'You help.' })
 * const turn = await chat.turn('Hello.')
 * const { messages, returnToolRequests } = await turn.request() // arguments of ai.generate()
 * console.log(messages.length, returnToolRequests) // prints 1 true
 * ```
 */
export function genkitLoop<Message = object>(
  skills: SkillRuntime,
  options: LoopOptions<Message>,
): LoopConversation<Message, GenkitRequest<Message>, GenkitAnswer> {
  return LoopConversation.open(skills, options, createGenkitFormat<Message>())
}
