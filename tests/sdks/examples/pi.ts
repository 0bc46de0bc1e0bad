import { Agent, type AgentMessage } from '@earendil-works/pi-agent-core'
import { createModels, createProvider, envApiKeyAuth, type Model } from '@earendil-works/pi-ai'
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy'
import { type PiState, pi } from '@skillstoke/adapters/pi'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'

interface Chat {
  readonly messages: AgentMessage[]
  readonly skills?: PiState
}

/** Asks one question, and follows the skills of a folder. Pass the returned chat with the next question. */
export async function main(folder: string, question: string, chat: Chat = { messages: [] }): Promise<Chat> {
  const [api, auth] = [openAICompletionsApi(), { apiKey: envApiKeyAuth('Key', ['MODEL_KEY']) }]
  const model: Model<'openai-completions'> = {
    ...{ id: 'gpt-6-mini', name: 'GPT-6 mini', api: 'openai-completions', provider: 'mine' },
    ...{ baseUrl: process.env['MODEL_URL'] ?? '', reasoning: false, input: ['text'] },
    ...{ contextWindow: 128_000, maxTokens: 16_000 },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  }
  const models = createModels()
  models.setProvider(createProvider({ id: 'mine', auth, models: [model], api }))
  const agent = new Agent({
    initialState: { systemPrompt: 'You help.', model, messages: chat.messages },
    streamFn: (...request) => models.streamSimple(...request),
  })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using live = pi(skills, { agent, id: 'chat-1', resume: chat.skills }) // adds catalog, skill tools and notices

  await agent.prompt(question)
  return { messages: agent.state.messages, skills: live.state() }
}
