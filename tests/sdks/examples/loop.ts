import { openaiChatLoop } from '@skillstoke/adapters/loop'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import OpenAI from 'openai'

/** Asks one question, and follows the skills of a folder. */
export async function main(folder: string, question: string): Promise<string | null> {
  const openai = new OpenAI({ baseURL: process.env['MODEL_URL'], apiKey: process.env['MODEL_KEY'] ?? 'none' })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using chat = openaiChatLoop<OpenAI.ChatCompletionMessageParam>(skills, {
    id: 'chat-1',
    instructions: 'You help.',
  })

  const turn = await chat.turn(question)
  for (;;) {
    const request = await turn.request() // the messages and tools for this call, with a notice after a change
    const answer = await openai.chat.completions.create({ model: 'gpt-6-mini', ...request })
    if (await turn.answer(answer)) continue // true after tool calls, whose results are now in the messages
    turn.keep() // adds the turn to the history
    return answer.choices[0]?.message.content ?? null
  }
}
