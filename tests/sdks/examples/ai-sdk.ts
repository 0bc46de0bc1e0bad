import { createOpenAI } from '@ai-sdk/openai'
import { aiSdk } from '@skillstoke/adapters/ai-sdk'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { generateText, type ModelMessage, stepCountIs } from 'ai'

/** Asks questions in one conversation, and follows the skills of a folder. */
export async function main(folder: string, questions: readonly string[]): Promise<string[]> {
  const openai = createOpenAI({
    baseURL: process.env['MODEL_URL'] ?? '',
    apiKey: process.env['MODEL_KEY'] ?? 'none',
  })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using chat = aiSdk<ModelMessage>(skills, { id: 'chat-1', instructions: 'You help.' })

  const answers: string[] = []
  for (const question of questions) {
    const call = await chat.turn(question) // instructions, messages, tools and a prepareStep that adds notices
    const result = await generateText({
      model: openai.chat('gpt-6-mini'),
      ...call,
      stopWhen: stepCountIs(20),
    })
    await chat.keep(result) // the turn becomes part of `chat.messages`, with its notices
    answers.push(result.text)
  }
  return answers
}
