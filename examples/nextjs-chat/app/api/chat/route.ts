import { createOpenAI } from '@ai-sdk/openai'
import { toAiTools } from '@skillstoke/adapters/ai-sdk'
import { createOfflineModel } from '@skillstoke/agent'
import {
  convertToModelMessages,
  createUIMessageStream,
  createUIMessageStreamResponse,
  experimental_createSteering,
  safeValidateUIMessages,
  stepCountIs,
  streamText,
  toUIMessageStream,
} from 'ai'
import { openChat, saveChat } from '../../../lib/skills'
import { type ChatMessage, dataSchemas, tools } from '../../../lib/tools'

const { MODEL_URL: baseURL, MODEL_KEY: apiKey = 'none' } = process.env
const model = baseURL ? createOpenAI({ baseURL, apiKey }).chat('gpt-6-mini') : createOfflineModel()

/** Answers a request of `useChat`, which sends all messages of the page. */
export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: unknown }
  const valid = await safeValidateUIMessages<ChatMessage>({ messages, dataSchemas, tools })
  if (!valid.success) return Response.json({ error: valid.error.message }, { status: 400 })
  const uiMessages = valid.data
  const chat = await openChat(id)
  const allTools = { ...tools, ...toAiTools(chat.session.tools) }
  const modelMessages = await convertToModelMessages(uiMessages, {
    tools: allTools,
    ignoreIncompleteToolCalls: true, // a stopped turn may end in the middle of a call
  })
  const stream = createUIMessageStream<ChatMessage>({
    originalMessages: uiMessages,
    execute: async ({ writer }) => {
      const showSkills = (): void => {
        const data = chat.session.active.map(({ name }) => name)
        if (data.length > 0) writer.write({ type: 'data-skills', id: 'skills', data })
      }
      const steering = experimental_createSteering()
      const call = await chat.ui(modelMessages, { tools, steering, onStepEnd: showSkills })
      const result = streamText({ model, ...call, stopWhen: stepCountIs(20), abortSignal: request.signal })
      writer.merge(toUIMessageStream<typeof tools, ChatMessage>({ stream: result.stream, tools: allTools }))
    },
    // Also runs after an error, and after the user stopped the turn or closed the page.
    onEnd: async ({ messages }) => await saveChat(id, { messages, state: chat.state() }),
  })
  return createUIMessageStreamResponse({ stream })
}
