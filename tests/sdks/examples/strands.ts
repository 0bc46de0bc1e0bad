import { strands } from '@skillstoke/adapters/strands'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import * as sdk from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { LocalFileStorage } from '@strands-agents/sdk/storage'

/** Asks one question in the conversation `chat-1`, and follows the skills of a folder. */
export async function main(folder: string, sessions: string, question: string): Promise<string> {
  const model = { modelId: 'gpt-6-mini', apiKey: process.env['MODEL_KEY'] ?? 'none' }
  const clientConfig = { baseURL: process.env['MODEL_URL'] }
  const storage = new LocalFileStorage(sessions)
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using live = strands(skills, { sdk, id: 'chat-1' })

  const agent = new sdk.Agent({
    model: new OpenAIModel({ api: 'chat', ...model, clientConfig }),
    systemPrompt: 'You help.',
    plugins: [live], // adds the catalog, the skill tools, and a notice before each model call after a change
    sessionManager: new sdk.SessionManager({ sessionId: 'chat-1', storage }),
    conversationManager: new sdk.SummarizingConversationManager(), // the default drops messages after each turn
    printer: false,
  })
  return String(await agent.invoke(question))
}
