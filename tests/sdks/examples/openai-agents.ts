import { Agent, type AgentInputItem, OpenAIChatCompletionsModel, run, user } from '@openai/agents'
import { openaiAgents } from '@skillstoke/adapters/openai-agents'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import OpenAI from 'openai'

/** Asks questions in one conversation, and follows the skills of a folder. */
export async function main(folder: string, questions: readonly string[]): Promise<string[]> {
  const openai = new OpenAI({
    baseURL: process.env['MODEL_URL'] ?? '',
    apiKey: process.env['MODEL_KEY'] ?? 'none',
  })
  const model = new OpenAIChatCompletionsModel(openai, 'gpt-6-mini')
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using chat = openaiAgents(skills, { id: 'chat-1' })
  const agent = chat.agent(new Agent({ name: 'Helper', instructions: 'You help.', model }))

  const answers: string[] = []
  let history: AgentInputItem[] = []
  for (const question of questions) {
    const result = await run(agent, [...history, user(question)], chat.options())
    history = result.history // store it as always; the adapter adds the notices to each request
    answers.push(result.finalOutput ?? '')
  }
  return answers
}
