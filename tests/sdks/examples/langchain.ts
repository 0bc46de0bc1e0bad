import { MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { langchain } from '@skillstoke/adapters/langchain'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

/** Asks questions in one conversation, and follows the skills of a folder. */
export async function main(folder: string, questions: readonly string[]): Promise<string[]> {
  const model = new ChatOpenAI({
    model: 'gpt-6-mini',
    apiKey: process.env['MODEL_KEY'] ?? 'none',
    configuration: { baseURL: process.env['MODEL_URL'] ?? '' },
  })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  const skillstoke = langchain(skills, { tool, z })
  const agent = createAgent({
    model,
    systemPrompt: 'You help.',
    middleware: [skillstoke()], // the catalog, the skill tools, and a notice before each model call
    checkpointer: new MemorySaver(),
  })

  const answers: string[] = []
  for (const content of questions) {
    const conversation = { configurable: { thread_id: 'chat-1' } }
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] }, conversation)
    answers.push(messages.at(-1)?.text ?? '')
  }
  return answers
}
