import { type StrandsPlugin, strands } from '@skillstoke/adapters/strands'
import * as sdk from '@strands-agents/sdk'
import { AnthropicModel } from '@strands-agents/sdk/models/anthropic'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { LocalFileStorage } from '@strands-agents/sdk/storage'
import { z } from 'zod'
import { type Harness, ONE_TURN } from './harness.ts'
import type { World } from './world.ts'

export const chatModel = ({ server }: World): sdk.Model =>
  new OpenAIModel({
    ...{ api: 'chat', modelId: 'test-model', apiKey: 'none' },
    clientConfig: { baseURL: `${server.url}/v1`, maxRetries: 0 },
  })

export const responsesModel = ({ server }: World, stateful = false): sdk.Model =>
  new OpenAIModel({
    ...{ api: 'responses', modelId: 'test-model', apiKey: 'none', stateful },
    clientConfig: { baseURL: `${server.url}/v1`, maxRetries: 0 },
  })

export const anthropicModel = ({ server }: World): sdk.Model =>
  new AnthropicModel({
    ...{ modelId: 'test-model', apiKey: 'none', maxTokens: 1_000, cacheConfig: { strategy: 'auto' } },
    clientConfig: { baseURL: server.url, maxRetries: 0 },
  })

export function editTool({ edit }: World): sdk.Tool {
  const { name, description, run } = edit
  return sdk.tool({ name, description, inputSchema: z.object({}), callback: run })
}

/** Creates an agent as a user would, with a plugin and other settings. */
export function createAgent(
  world: World,
  plugin: sdk.Plugin,
  { tools = [], plugins = [], ...config }: sdk.AgentConfig = {},
): sdk.Agent {
  return new sdk.Agent({
    ...{ model: chatModel(world), systemPrompt: 'You help.', printer: false },
    ...config,
    tools: [editTool(world), ...tools],
    plugins: [plugin, ...plugins],
  })
}

/** Stores the conversation `chat-1` in the state folder of the world. */
export function createSessionManager({ stateFolder }: World): sdk.SessionManager {
  return new sdk.SessionManager({ sessionId: 'chat-1', storage: new LocalFileStorage(stateFolder.path) })
}

function createHarness(name: string, createModel: (world: World) => sdk.Model): Harness {
  return {
    name,
    limits: { overlap: ONE_TURN },
    async open(world, { scope, commandTools = false }) {
      const skills = await world.createSkills()
      const live: StrandsPlugin<sdk.ToolResultBlock> = strands(skills, {
        sdk,
        id: 'chat-1',
        commandTools,
        ...(scope && { scope }),
      })
      const model = createModel(world)
      const summarizer = new sdk.SummarizingConversationManager({
        summaryRatio: 0.8,
        preserveRecentMessages: 1,
      })
      const agent = createAgent(world, live, {
        model,
        conversationManager: summarizer,
        sessionManager: createSessionManager(world),
      })
      /** The number of messages before each turn. */
      const lengths: number[] = []
      return {
        canRunScripts: true,
        canStop: true,
        say: async (text, cancelSignal) => {
          await agent.initialize()
          lengths.push(agent.messages.length)
          await agent.invoke(text, { ...(cancelSignal && { cancelSignal }) })
        },
        takeBack: turns => {
          agent.messages.splice(lengths.at(-turns) ?? 0)
          return Promise.resolve()
        },
        fork: () => {
          const copy = createAgent(world, strands(skills, { sdk, id: 'chat-2' }), { model })
          copy.loadSnapshot(agent.takeSnapshot({ preset: 'session' }))
          return Promise.resolve({ say: async (text: string) => void (await copy.invoke(text)) })
        },
        compact: async () => void (await summarizer.reduce({ agent, model })),
        openSubagent: () => {
          const child = live.child({ id: 'chat-1/helper', scope: { exclude: ['secret'] } })
          const helper = createAgent(world, child, { model })
          return Promise.resolve({ say: async (text: string) => void (await helper.invoke(text)) })
        },
        async [Symbol.asyncDispose]() {
          live[Symbol.dispose]()
          await skills.close()
        },
      }
    },
  }
}

export const strandsHarness: Harness = createHarness('@strands-agents/sdk 1.19', chatModel)
export const strandsResponsesHarness: Harness = createHarness(
  '@strands-agents/sdk 1.19, responses',
  responsesModel,
)
export const strandsAnthropicHarness: Harness = createHarness(
  '@strands-agents/sdk 1.19, Anthropic',
  anthropicModel,
)
