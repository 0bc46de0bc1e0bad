import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, type AgentMessage, type AgentOptions, type AgentTool } from '@earendil-works/pi-agent-core'
import { type Api, createModels, createProvider, type Model } from '@earendil-works/pi-ai'
import { anthropicMessagesApi } from '@earendil-works/pi-ai/api/anthropic-messages.lazy'
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy'
import { openAIResponsesApi } from '@earendil-works/pi-ai/api/openai-responses.lazy'
import { type PiChat, type PiState, pi } from '@skillstoke/adapters/pi'
import { type Harness, ONE_TURN } from './harness.ts'
import type { World } from './world.ts'

const APIS = {
  'openai-completions': openAICompletionsApi(),
  'openai-responses': openAIResponsesApi(),
  'anthropic-messages': anthropicMessagesApi(),
}

type ApiName = keyof typeof APIS

export function createModel({ server }: World, api: ApiName, compat: object): Model<Api> {
  return {
    ...{ id: 'test-model', name: 'Test', api, provider: 'test', reasoning: false, input: ['text'] },
    baseUrl: api === 'anthropic-messages' ? server.url : `${server.url}/v1`,
    ...{
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 128_000,
      maxTokens: 1_000,
    },
    compat,
  }
}

function createStream(model: Model<Api>): AgentOptions['streamFn'] {
  const models = createModels()
  const apiKey = { name: 'Test', resolve: () => Promise.resolve({ auth: { apiKey: 'none' } }) }
  models.setProvider(
    createProvider({ id: 'test', name: 'Test', auth: { apiKey }, models: [model], api: APIS }),
  )
  return (...request) => models.streamSimple(...request)
}

export function editTool({ edit }: World): AgentTool {
  const { name, description, run } = edit
  return {
    ...{ name, label: name, description, parameters: { type: 'object', properties: {} } },
    execute: async () => ({ content: [{ type: 'text', text: await run() }], details: {} }),
  }
}

/** The settings of an agent of the tests. */
export interface AgentSettings extends Partial<AgentOptions> {
  readonly api?: ApiName
  /** What the provider supports besides the defaults of the SDK. */
  readonly compat?: object
  readonly messages?: readonly AgentMessage[]
  readonly tools?: readonly AgentTool[]
}

/** Creates an agent as a user would. */
export function createAgent(world: World, settings: AgentSettings = {}): Agent {
  const { api = 'openai-completions', compat = {}, messages = [], tools = [], ...options } = settings
  const model = createModel(world, api, compat)
  return new Agent({
    streamFn: createStream(model),
    ...options,
    initialState: {
      ...{ systemPrompt: 'You help.', model, tools: [editTool(world), ...tools] },
      ...options.initialState,
      messages: [...messages],
    },
  })
}

/** Sends a message. Rejects if the model call fails, because the SDK stores the error instead. */
export async function ask(agent: Agent, text: string): Promise<void> {
  await agent.prompt(text)
  const { errorMessage } = agent.state
  if (errorMessage !== undefined) throw new Error(errorMessage)
}

/** What a host stores of a conversation. */
interface Stored {
  readonly messages: readonly AgentMessage[]
  readonly skills: PiState
}

function createHarness(name: string, settings: AgentSettings): Harness {
  return {
    name,
    limits: { overlap: ONE_TURN },
    async open(world, { scope, commandTools = false }) {
      const skills = await world.createSkills()
      const file = world.stateFolder.at('chat.json')
      const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Stored) : undefined
      const agent = createAgent(world, { ...settings, ...(stored && { messages: stored.messages }) })
      const live: PiChat = pi(skills, {
        agent,
        id: 'chat-1',
        commandTools,
        ...(scope && { scope }),
        ...(stored && { resume: stored.skills }),
      })
      /** The number of messages before each turn. */
      const lengths: number[] = []
      return {
        canRunScripts: true,
        canStop: true,
        say: async (text, signal) => {
          lengths.push(agent.state.messages.length)
          signal?.addEventListener('abort', () => agent.abort())
          await ask(agent, text)
          writeFileSync(file, JSON.stringify({ messages: agent.state.messages, skills: live.state() }))
        },
        takeBack: turns => {
          agent.state.messages.splice(lengths.at(-turns) ?? 0)
          return Promise.resolve()
        },
        fork: () => {
          const copy = createAgent(world, { ...settings, messages: agent.state.messages })
          pi(skills, { agent: copy, id: 'chat-2', resume: live.state() })
          return Promise.resolve({ say: async (text: string) => await ask(copy, text) })
        },
        compact: () => {
          const [system] = agent.state.messages
          const summary: AgentMessage = { role: 'user', content: 'A summary.', timestamp: Date.now() }
          agent.state.messages = system ? [system, summary] : [summary]
          return Promise.resolve()
        },
        openSubagent: () => {
          const helper = createAgent(world, settings)
          live.child({ agent: helper, id: 'chat-1/helper', scope: { exclude: ['secret'] } })
          return Promise.resolve({ say: async (text: string) => await ask(helper, text) })
        },
        async [Symbol.asyncDispose]() {
          live[Symbol.dispose]()
          await skills.close()
        },
      }
    },
  }
}

export const piHarness: Harness = createHarness('@earendil-works/pi-agent-core 1.5', {})
export const piResponsesHarness: Harness = createHarness('@earendil-works/pi-agent-core 1.5, responses', {
  api: 'openai-responses',
})
export const piAnthropicHarness: Harness = createHarness('@earendil-works/pi-agent-core 1.5, Anthropic', {
  api: 'anthropic-messages',
})
