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
    config: Config & { signal?: AbortSignal },
  ) => Promise<unknown>
  readonly getState: (config: Config) => Promise<{ config: object }>
}

/** Names a thread, or a checkpoint of a thread. */
interface Config {
  readonly configurable: { readonly thread_id: string }
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
    async open(world, { scope, commandTools = false }) {
      const skills = await world.createSkills()
      const skillstoke = langchain(skills, { tool, z, commandTools, ...(scope && { scope }) })
      const parts = {
        ...{ model: kind.createModel(world), tools: [createEditTool(world)], systemPrompt: 'You help.' },
        checkpointer: new FileSaver(world.stateFolder.at('threads')),
      }
      let agent = kind.createAgent(parts, skillstoke(), false)
      const chat: Config = { configurable: { thread_id: 'chat-1' } }
      const say = async (to: Agent, at: Config, content: string, signal?: AbortSignal): Promise<void> => {
        await to.invoke({ messages: [{ role: 'user', content }] }, { ...at, ...(signal && { signal }) })
      }
      const findCheckpoint = async (): Promise<Config> => (await agent.getState(chat)).config as Config
      /** The checkpoint before each turn. */
      const checkpoints: Config[] = []
      let next = chat
      return {
        canRunScripts: true,
        canStop: true,
        canOverlap: true,
        say: async (text, signal) => {
          checkpoints.push(await findCheckpoint())
          const at = next
          next = chat
          await say(agent, at, text, signal)
        },
        takeBack: turns => {
          next = checkpoints.at(-turns) ?? chat
          return Promise.resolve()
        },
        fork: async () => {
          // The copy is a branch of the same thread.
          let at = await findCheckpoint()
          return {
            say: async (text: string) => {
              const main = await findCheckpoint()
              await say(agent, at, text)
              at = await findCheckpoint()
              next = main
            },
          }
        },
        compact: () => {
          agent = kind.createAgent(parts, skillstoke(), true)
          return Promise.resolve()
        },
        openSubagent: () => {
          const child = kind.createAgent(parts, skillstoke({ scope: { exclude: ['secret'] } }), false)
          const at = { configurable: { thread_id: 'chat-1-helper' } }
          return Promise.resolve({ say: async (text: string) => await say(child, at, text) })
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
