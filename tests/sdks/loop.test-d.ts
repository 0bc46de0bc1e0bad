import type Anthropic from '@anthropic-ai/sdk'
import type {
  AnthropicAnswer,
  AnthropicRequest,
  LoopTool,
  OpenaiChatAnswer,
  OpenaiChatRequest,
  OpenaiResponsesAnswer,
  OpenaiResponsesRequest,
} from '@skillstoke/adapters/loop'
import type { ToolDefinition } from '@skillstoke/core'
import type OpenAI from 'openai'
import { z } from 'zod'

// The type check of this folder compiles this file. Requests and answers must match the types of the SDKs without a cast.

declare const chat: OpenaiChatRequest<OpenAI.ChatCompletionMessageParam>
export const chatParams: OpenAI.ChatCompletionCreateParamsNonStreaming = { model: 'm', ...chat }
export const chatStream: OpenAI.ChatCompletionCreateParamsStreaming = { model: 'm', stream: true, ...chat }
export const chatAnswer = (completion: OpenAI.ChatCompletion): OpenaiChatAnswer => completion

declare const responses: OpenaiResponsesRequest<OpenAI.Responses.ResponseInputItem>
export const responsesParams: OpenAI.Responses.ResponseCreateParamsNonStreaming = { model: 'm', ...responses }
export const responsesAnswer = (response: OpenAI.Responses.Response): OpenaiResponsesAnswer => response

declare const messages: AnthropicRequest<Anthropic.MessageParam>
export const params: Anthropic.MessageCreateParamsNonStreaming = { model: 'm', max_tokens: 1, ...messages }
export const answer = (message: Anthropic.Message): AnthropicAnswer => message

declare const beta: AnthropicRequest<Anthropic.Beta.BetaMessageParam>
type RunnerParams = Parameters<Anthropic['beta']['messages']['toolRunner']>[0]
export const runnerParams: RunnerParams = { model: 'm', max_tokens: 1, ...beta }
export const betaAnswer = (message: Anthropic.Beta.BetaMessage): AnthropicAnswer => message

// Host tools may have a typed input, a schema of Zod, or the form of our own tools.
const Input = z.object({ path: z.string() })
export const typed: LoopTool = {
  name: 'read',
  inputSchema: z.toJSONSchema(Input),
  execute: async ({ path }: z.infer<typeof Input>) => `Contents of ${path}.`,
}
export const ours = (definition: ToolDefinition): LoopTool => definition
