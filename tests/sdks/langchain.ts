import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { langchain } from '@skillstoke/adapters/langchain'
import { createDeepAgent, createSummarizationMiddleware, StateBackend } from 'deepagents'
import {
  type AgentMiddleware,
  anthropicPromptCachingMiddleware,
  contextEditingMiddleware,
  createAgent,
  humanInTheLoopMiddleware,
  summarizationMiddleware,
  tool,
} from 'langchain'
import { z } from 'zod'
import type { Harness } from './harness.ts'
import { FileSaver } from './langchain-saver.ts'
import type { World } from './world.ts'

type Model = ChatOpenAI | ChatAnthropic

/** The part of an agent that a harness uses. */
interface Agent {
  readonly invoke: (
    input: { messages: { role: 'user'; content: string }[] },
    config: { configurable: { thread_id: string } },
  ) => Promise<unknown>
}

interface AgentParts {
  readonly model: Model
  readonly tools: ReturnType<typeof createEditTool>[]
  readonly systemPrompt: string
  readonly checkpointer: FileSaver
}

/** One way to create an agent. */
interface Kind {
  readonly name: string
  readonly createModel: (world: World) => Model
  readonly createAgent: (parts: AgentParts, live: AgentMiddleware, compacts: boolean) => Agent
}

export function chatModel({ server }: World): ChatOpenAI {
  const configuration = { baseURL: `${server.url}/v1` }
  return new ChatOpenAI({ model: 'gpt-test', apiKey: 'none', maxRetries: 0, configuration })
}

export function anthropicModel({ server }: World): ChatAnthropic {
  return new ChatAnthropic({
    model: 'claude-test',
    apiKey: 'none',
    maxRetries: 0,
    anthropicApiUrl: server.url,
  })
}

export function createEditTool({ edit: { name, description, run } }: World) {
  return tool(async () => await run(), { name, description, schema: z.object({}) })
}

// The types of the middleware that LangChain declares with Zod 3 do not compile with exactOptionalPropertyTypes.
export const summarize = summarizationMiddleware as unknown as (options: object) => AgentMiddleware
export const askPerson = humanInTheLoopMiddleware as unknown as (options: object) => AgentMiddleware
export const clearResults = contextEditingMiddleware as unknown as (options: object) => AgentMiddleware
export const cachePrompts = anthropicPromptCachingMiddleware as unknown as () => AgentMiddleware

function createHarness(kind: Kind): Harness {
  return {
    name: kind.name,
    async open(world, { scope }) {
      const skills = await world.createSkills()
      const skillstoke = langchain(skills, { tool, z, ...(scope && { scope }) })
      const parts = {
        ...{ model: kind.createModel(world), tools: [createEditTool(world)], systemPrompt: 'You help.' },
        checkpointer: new FileSaver(world.stateFolder.at('threads')),
      }
      let agent = kind.createAgent(parts, skillstoke(), false)
      const say = async (to: Agent, thread_id: string, content: string): Promise<void> =>
        void (await to.invoke({ messages: [{ role: 'user', content }] }, { configurable: { thread_id } }))
      return {
        canRunScripts: true,
        say: async text => await say(agent, 'chat-1', text),
        compact: () => {
          agent = kind.createAgent(parts, skillstoke(), true)
          return Promise.resolve()
        },
        openSubagent: () => {
          const child = kind.createAgent(parts, skillstoke({ scope: { exclude: ['secret'] } }), false)
          return Promise.resolve({ say: async (text: string) => await say(child, 'chat-1-helper', text) })
        },
        async [Symbol.asyncDispose]() {
          await skills.close()
        },
      }
    },
  }
}

/** LangChain counts the messages before the notice of the next model call. */
function summarizeHistory(model: Model, compacts: boolean): AgentMiddleware {
  return summarize({ model, trigger: { messages: compacts ? 5 : 1_000 }, keep: { messages: 1 } })
}

export const langchainHarness: Harness = createHarness({
  name: 'langchain 1.5',
  createModel: chatModel,
  createAgent: (parts, live, compacts) =>
    createAgent({ ...parts, middleware: [summarizeHistory(parts.model, compacts), live] }),
})

export const langchainAnthropicHarness: Harness = createHarness({
  name: 'langchain 1.5, Anthropic',
  createModel: anthropicModel,
  createAgent: (parts, live, compacts) =>
    createAgent({ ...parts, middleware: [summarizeHistory(parts.model, compacts), cachePrompts(), live] }),
})

export const deepagentsHarness: Harness = createHarness({
  name: 'deepagents 1.14',
  createModel: chatModel,
  createAgent: (parts, live, compacts) => {
    const summarization = createSummarizationMiddleware({
      backend: new StateBackend(),
      trigger: { type: 'messages', value: compacts ? 6 : 1_000 },
      keep: { type: 'messages', value: 1 },
    })
    return createDeepAgent({ ...parts, middleware: [summarization, live] })
  },
})
