import type { AiSdkChat } from '@skillstoke/adapters/ai-sdk'
import { generateText, type LanguageModel, type ModelMessage, stepCountIs, ToolLoopAgent, tool } from 'ai'
import { z } from 'zod'

// The type check of this folder compiles this file. The call of a turn must keep the types of the host's own tools.

declare const model: LanguageModel
declare const chat: AiSdkChat<ModelMessage>
declare const chats: { readonly get: (id: string) => Promise<AiSdkChat<ModelMessage>> }
const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sun in ${city}.`,
})

export async function ask(): Promise<readonly string[]> {
  const call = await chat.turn('The question.', { tools: { weather } })
  const result = await generateText({ model, ...call, stopWhen: stepCountIs(9) })
  await chat.keep(result)
  return result.toolCalls.map(each => {
    if (each.dynamic === true) return each.toolName
    const name: 'weather' = each.toolName
    return `${name} ${each.input.city}`
  })
}

export const shared = new ToolLoopAgent<{ chat: string }>({
  model,
  prepareCall: async ({ options, prompt, ...call }) => ({
    ...call,
    ...(await (await chats.get(options.chat)).turn(prompt ?? [])),
  }),
})

export const agent = new ToolLoopAgent({ model, ...chat.agent({ tools: { weather } }) })
