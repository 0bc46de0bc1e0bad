import { MemorySaver } from '@langchain/langgraph'
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  OpenAIResponsesCompactionSession,
  run,
} from '@openai/agents'
import { claudeAgent } from '@skillstoke/adapters/claude-agent-sdk'
import { langchain } from '@skillstoke/adapters/langchain'
import { type OpenaiAgentsChat, openaiAgents } from '@skillstoke/adapters/openai-agents'
import { pi } from '@skillstoke/adapters/pi'
import { strands } from '@skillstoke/adapters/strands'
import type { SkillRuntime } from '@skillstoke/core'
import * as sdk from '@strands-agents/sdk'
import { AnthropicModel } from '@strands-agents/sdk/models/anthropic'
import { createAgent as createLangChainAgent, tool } from 'langchain'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEnv, createOptions, ask as say } from './claude-agent-sdk.ts'
import { chatModel as langchainModel, summarize } from './langchain.ts'
import { MastraProcess, say as sayInThread } from './mastra.ts'
import { countBrokenPrefixes, type Reply } from './model-server.ts'
import { type CreateModel, chatModel, responsesModel } from './openai-agents.ts'
import { ask, createAgent as createPiAgent } from './pi.ts'
import { Relay } from './relay.ts'
import { createAgent as createStrandsAgent } from './strands.ts'
import { World } from './world.ts'

// Measures what the tables "Limits" of `docs/sdks` say about the settings of the SDKs. No skill changes in these tests.

const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }

let world: World
let skills: SkillRuntime
beforeEach(async () => {
  world = await World.open()
  skills = await world.createSkills()
  world.server.play(LOAD)
})
afterEach(async () => await world[Symbol.asyncDispose]())

function questions(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `Question ${index}.`)
}

/** Returns how many requests do not begin with the request before them, and the number of all requests. */
function measure(): readonly [broken: number, all: number] {
  const { requests } = world.server
  return [countBrokenPrefixes(requests), requests.length]
}

describe('Strands', () => {
  const MANAGERS = {
    default: (): sdk.AgentConfig => ({}),
    summary: (): sdk.AgentConfig => ({ conversationManager: new sdk.SummarizingConversationManager() }),
  }

  test.each([
    ['default', 79],
    ['summary', 0],
  ] as const)('with the manager "%s", %i of 101 requests break the prefix', async (name, broken) => {
    const agent = createStrandsAgent(world, strands(skills, { sdk, id: 'chat-1' }), MANAGERS[name]())
    for (const question of questions(100)) await agent.invoke(question)
    expect(measure()).toEqual([broken, 101])
  })

  test.each<[config: object, marks: number]>([
    [{}, 0],
    [{ cacheConfig: { strategy: 'auto' } }, 3],
  ])('with the settings %j, an Anthropic model gets %i cache breakpoints', async (config, marks) => {
    const model = new AnthropicModel({
      ...{ modelId: 'test-model', apiKey: 'none', maxTokens: 1_000, ...config },
      clientConfig: { baseURL: world.server.url },
    })
    const agent = createStrandsAgent(world, strands(skills, { sdk, id: 'chat-1' }), { model })
    await agent.invoke('Begin.')
    expect(JSON.stringify(world.server.requests.at(-1)?.body).split('"cache_control"').length - 1).toBe(marks)
  })
})

test.each([
  [{}, 14],
  [{ lastMessages: Number.MAX_SAFE_INTEGER }, 0],
])('Mastra: with the memory options %j, %i of 21 requests break the prefix', async (options, broken) => {
  await using process = await MastraProcess.start(world, {}, options)
  const agent = process.createAgent()
  for (const question of questions(20)) await sayInThread(agent, 'chat-1', question)
  expect(measure()).toEqual([broken, 21])
})

test.each([
  [9, 26],
  [1, 7],
])('LangChain: a summary that keeps %i of 10 messages breaks the prefix %i times', async (keep, broken) => {
  const model = langchainModel(world)
  const summarization = summarize({ model, trigger: { messages: 10 }, keep: { messages: keep } })
  const middleware = [summarization, langchain(skills, { tool, z })()]
  const agent = createLangChainAgent({ model, middleware, checkpointer: new MemorySaver() })
  for (const content of questions(30)) {
    const conversation = { configurable: { thread_id: 'chat-1' } }
    await agent.invoke({ messages: [{ role: 'user', content }] }, conversation)
  }
  expect(measure()).toEqual([broken, 31])
  expect(world.server.asides.length).toBe(broken)
})

describe('OpenAI Agents', () => {
  const create = (chat: OpenaiAgentsChat, createModel: CreateModel): Agent =>
    chat.agent(new Agent({ name: 'Helper', instructions: 'You help.', model: createModel(world) }))

  test.each([
    { api: 'Chat Completions', model: chatModel, broken: 0 },
    { api: 'Responses', model: responsesModel, broken: 9 },
  ])(
    'with a session and the $api API, $broken of 20 requests break the prefix',
    async ({ model, broken }) => {
      using chat = openaiAgents(skills, { id: 'chat-1' })
      const agent = create(chat, model)
      const session = new MemorySession()
      for (const question of questions(10)) {
        world.server.play(LOAD)
        await run(agent, question, chat.options({ session }))
      }
      expect(measure()).toEqual([broken, 20])
    },
  )

  test('a history that the host keeps does not break the prefix with the Responses API', async () => {
    using chat = openaiAgents(skills, { id: 'chat-1' })
    const agent = create(chat, responsesModel)
    let history: AgentInputItem[] = []
    for (const content of questions(10)) {
      world.server.play(LOAD)
      ;({ history } = await run(agent, [...history, { role: 'user', content }], chat.options()))
    }
    expect(measure()).toEqual([0, 20])
  })

  test.each([
    { name: 'the default trigger', trigger: {}, broken: 3 },
    { name: 'a trigger of the host', trigger: { shouldTriggerCompaction: () => false }, broken: 0 },
  ])(
    'with a compaction session and $name, $broken of 40 requests break the prefix',
    async ({ trigger, broken }) => {
      world.server.play()
      const output = [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'c2VjcmV0' }]
      const answer = { id: 'r', object: 'response.compaction', output, usage: {} }
      const client = new OpenAI({ apiKey: 'none', fetch: () => Promise.resolve(Response.json(answer)) })
      const settings = { client, model: 'gpt-6-mini', compactionMode: 'input' } as const
      const session = new OpenAIResponsesCompactionSession({ ...settings, ...trigger })
      using chat = openaiAgents(skills, { id: 'chat-1' })
      const agent = create(chat, responsesModel)
      for (const question of questions(40)) await run(agent, question, chat.options({ session }))
      expect(measure()).toEqual([broken, 40])
    },
  )
})

describe('Claude Agent SDK', () => {
  test.each([
    { name: '/compact', next: '/compact', variables: {}, tokens: 10, broken: 1 },
    { name: '150,000 tokens', next: 'Go on.', variables: {}, tokens: 150_000, broken: 1 },
    {
      name: '150,000 tokens and DISABLE_AUTO_COMPACT',
      next: 'Go on.',
      variables: { DISABLE_AUTO_COMPACT: '1' },
      tokens: 150_000,
      broken: 0,
    },
    {
      name: '150,000 tokens and a larger window',
      next: 'Go on.',
      variables: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: '200000' },
      tokens: 150_000,
      broken: 0,
    },
  ])('with $name, $broken requests break the prefix', async ({ next, variables, tokens, broken }) => {
    world.server.play()
    using live = await claudeAgent(skills, { id: 'chat-1' })
    await using relay = await Relay.start(world, {
      answer: request =>
        request.includes('CRITICAL: Respond with TEXT ONLY')
          ? { kind: 'text', text: 'A summary.' }
          : undefined,
      countTokens: request => (request.includes('Two.') && !request.includes('Three.') ? tokens : 10),
    })
    const env = { ...createEnv(world, relay.url), CLAUDE_CODE_AUTO_COMPACT_WINDOW: '100000', ...variables }
    for (const prompt of ['One.', 'Two.', next, 'Three.', 'Four.'])
      await say(prompt, live.options({ ...createOptions(world), env }))
    expect(measure()).toEqual([broken, next === '/compact' ? 4 : 5])
  })
})

test.each([
  [20, 20],
  [1_000, 0],
])(
  'pi: a transformContext that keeps the last %i messages breaks the prefix %i times',
  async (size, broken) => {
    world.server.play()
    const agent = createPiAgent(world, {
      transformContext: ([system, ...messages]) =>
        Promise.resolve([...(system === undefined ? [] : [system]), ...messages.slice(-size)]),
    })
    using _ = pi(skills, { agent, id: 'chat-1' })
    for (const question of questions(30)) await ask(agent, question)
    expect(measure()).toEqual([broken, 30])
  },
)
