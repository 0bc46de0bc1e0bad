import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import {
  Agent,
  type AgentInputItem,
  type Model,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  type Tool,
  tool,
} from '@openai/agents'
import {
  type OpenaiAgentsChat,
  type OpenaiAgentsState,
  openaiAgents,
} from '@skillstoke/adapters/openai-agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { type Harness, ONE_TURN } from './harness.ts'
import type { World } from './world.ts'

setTracingDisabled(true) // the SDK would send traces to OpenAI

export type CreateModel = (world: World) => Model

const createClient = ({ server }: World): OpenAI =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })

export const chatModel: CreateModel = world =>
  new OpenAIChatCompletionsModel(createClient(world), 'test-model')
export const responsesModel: CreateModel = world =>
  new OpenAIResponsesModel(createClient(world), 'test-model')

export function editTool({ edit }: World): Tool {
  const { name, description, run: execute } = edit
  return tool({ name, description, parameters: z.object({}), execute })
}

/** What a host stores of a conversation. */
interface Stored {
  readonly history: readonly AgentInputItem[]
  readonly state: OpenaiAgentsState
}

/** A host that keeps the history of each conversation itself. */
class Host {
  readonly chat: OpenaiAgentsChat
  readonly #agent: Agent
  readonly #isStreamed: boolean
  #history: AgentInputItem[]
  /** The length of the history before each turn. */
  readonly #lengths: number[] = []

  constructor(
    chat: OpenaiAgentsChat,
    agent: Agent,
    isStreamed: boolean,
    history: readonly AgentInputItem[] = [],
  ) {
    this.chat = chat
    this.#agent = chat.agent(agent)
    this.#isStreamed = isStreamed
    this.#history = [...history]
  }

  async say(text: string, signal?: AbortSignal): Promise<void> {
    this.#lengths.push(this.#history.length)
    const input: AgentInputItem[] = [...this.#history, { role: 'user', content: text }]
    this.#history = this.#isStreamed
      ? await this.#stream(input, signal)
      : (await run(this.#agent, input, this.chat.options({ ...(signal && { signal }) }))).history
  }

  takeBack(turns: number): void {
    this.#history = this.#history.slice(0, this.#lengths.at(-turns))
  }

  fork(chat: OpenaiAgentsChat, agent: Agent): Host {
    return new Host(chat, agent, this.#isStreamed, this.#history)
  }

  async compact(summary: string): Promise<void> {
    this.#history = await this.chat.compact(summary)
  }

  stored(): Stored {
    return { history: this.#history, state: this.chat.state() }
  }

  async #stream(input: AgentInputItem[], signal?: AbortSignal): Promise<AgentInputItem[]> {
    const result = await run(
      this.#agent,
      input,
      this.chat.options({ stream: true, ...(signal && { signal }) }),
    )
    for await (const _ of result);
    await result.completed
    return result.history
  }
}

function createHarness(name: string, createModel: CreateModel, isStreamed: boolean): Harness {
  return {
    name,
    limits: { overlap: ONE_TURN },
    async open(world, { scope, commandTools = false }) {
      const skills = await world.createSkills()
      const file = world.stateFolder.at('chat.json')
      const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Stored) : undefined
      const chat = openaiAgents(skills, {
        id: 'chat-1',
        commandTools,
        ...(scope && { scope }),
        ...(stored && { resume: stored.state }),
      })
      const base = new Agent({
        name: 'Helper',
        instructions: 'You help.',
        model: createModel(world),
        tools: [editTool(world)],
      })
      const host = new Host(chat, base, isStreamed, stored?.history)
      return {
        canRunScripts: true,
        canStop: true,
        say: async (text, signal) => {
          await host.say(text, signal)
          writeFileSync(file, JSON.stringify(host.stored()))
        },
        takeBack: turns => Promise.resolve(host.takeBack(turns)),
        fork: () => {
          const resume = JSON.parse(JSON.stringify(chat.state())) as OpenaiAgentsState
          return Promise.resolve(host.fork(openaiAgents(skills, { id: 'chat-2', resume }), base))
        },
        compact: async () => await host.compact('A summary.'),
        openSubagent: () => {
          const child = chat.child({ id: 'chat-1/helper', scope: { exclude: ['secret'] } })
          return Promise.resolve(new Host(child, base, isStreamed))
        },
        async [Symbol.asyncDispose]() {
          chat[Symbol.dispose]()
          await skills.close()
        },
      }
    },
  }
}

export const openaiAgentsHarness: Harness = createHarness('@openai/agents 0.20, chat', chatModel, false)
export const openaiAgentsResponsesHarness: Harness = createHarness(
  '@openai/agents 0.20, responses, streamed',
  responsesModel,
  true,
)
