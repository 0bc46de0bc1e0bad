import { Agent } from '@mastra/core/agent'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { mastra } from '@skillstoke/adapters/mastra'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'

/** Asks one question in the thread `chat-1`, and follows the skills of a folder. */
export async function main(folder: string, database: string, question: string): Promise<string> {
  const storage = new LibSQLStore({ id: 'storage', url: `file:${database}` })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  const live = mastra(skills)

  const agent = new Agent({
    id: 'helper',
    name: 'helper',
    instructions: 'You help.',
    model: {
      id: 'openai/gpt-6-mini',
      url: process.env['MODEL_URL'] ?? '',
      apiKey: process.env['MODEL_KEY'] ?? 'none',
    },
    memory: new Memory({ storage, options: { lastMessages: Number.MAX_SAFE_INTEGER } }),
    tools: { ...live.tools }, // the skill tools, next to your own tools
    inputProcessors: [live.processor], // the catalog, and a notice before each model call after a change
  })
  const { text } = await agent.generate(question, { memory: { thread: 'chat-1', resource: 'user-1' } })
  await storage.close()
  return text
}
