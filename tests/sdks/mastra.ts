import { createOpenAI } from '@ai-sdk/openai-3'
import { Agent, type AgentConfig, type AgentExecutionOptions } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { type MastraOptions, type MastraSkills, mastra } from '@skillstoke/adapters/mastra'
import type { SkillRuntime } from '@skillstoke/core'
import { z } from 'zod'
import type { Harness, HarnessConversation, HarnessOptions } from './harness.ts'
import type { World } from './world.ts'

// Mastra must not report its use.
process.env['MASTRA_TELEMETRY_DISABLED'] = '1'

export const mastraHarness: Harness = {
  name: '@mastra/core 1.71',
  open: async (world, options) => await openConversation(world, options, 'generate'),
}

export const mastraStreamHarness: Harness = {
  name: '@mastra/core 1.71, stream',
  open: async (world, options) => await openConversation(world, options, 'stream'),
}

type MemoryOptions = NonNullable<NonNullable<ConstructorParameters<typeof Memory>[0]>['options']>
type AgentParts = Partial<
  Pick<AgentConfig, 'agents' | 'description' | 'inputProcessors' | 'instructions' | 'tools'>
>
type CallOptions = Partial<Pick<AgentExecutionOptions, 'abortSignal' | 'memory' | 'requireToolApproval'>>

/** The objects of one process: a runtime of skills, a memory on disk, and agents. */
export class MastraProcess implements AsyncDisposable {
  readonly skills: SkillRuntime
  readonly memory: Memory
  readonly live: MastraSkills
  readonly edit: ReturnType<typeof createEdit>
  readonly #world: World
  readonly #storage: LibSQLStore

  private constructor(world: World, skills: SkillRuntime, options: MastraOptions, memory: MemoryOptions) {
    this.#world = world
    this.skills = skills
    this.live = mastra(skills, options)
    this.edit = createEdit(world)
    this.#storage = new LibSQLStore({ id: 'store', url: `file:${world.stateFolder.at('mastra.db')}` })
    this.memory = new Memory({ storage: this.#storage, options: memory })
  }

  static async start(
    world: World,
    options: MastraOptions = {},
    memory: MemoryOptions = { lastMessages: Number.MAX_SAFE_INTEGER },
  ): Promise<MastraProcess> {
    return new MastraProcess(world, await world.createSkills(), options, memory)
  }

  /** Creates an agent with the host tool `edit` and live skills. */
  createAgent(parts: AgentParts = {}, live: MastraSkills = this.live): Agent {
    const model = createOpenAI({ baseURL: `${this.#world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const agent = new Agent({
      ...{ id: 'agent', name: 'agent', instructions: 'You help.', model, memory: this.memory },
      tools: { edit: this.edit, ...live.tools },
      inputProcessors: [live.processor],
      ...parts,
    })
    return new Mastra({ agents: { agent }, storage: this.#storage, logger: false }).getAgent('agent')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.skills.close()
    await this.#storage.close()
  }
}

function createEdit({ edit: { description, run } }: World) {
  return createTool({ id: 'edit', description, inputSchema: z.object({}), execute: run })
}

/** Sends a message in a thread, and waits for the answer. */
export async function say(
  agent: Agent,
  thread: string,
  text: string,
  options: CallOptions = {},
): Promise<string> {
  const { text: answer } = await agent.generate(text, toOptions(thread, options))
  return answer
}

async function sayStreaming(
  agent: Agent,
  thread: string,
  text: string,
  options: CallOptions = {},
): Promise<void> {
  const stream = await agent.stream(text, toOptions(thread, options))
  await stream.consumeStream()
  if (stream.error !== undefined) throw stream.error
}

function toOptions(thread: string, options: CallOptions = {}) {
  const memory = { thread, resource: 'user-1' }
  return { memory, maxSteps: 9, modelSettings: { maxRetries: 0 }, ...options }
}

async function openConversation(
  world: World,
  { scope, commandTools = false }: HarnessOptions,
  method: 'generate' | 'stream',
): Promise<HarnessConversation> {
  const process = await MastraProcess.start(world, { commandTools, ...(scope && { scope }) })
  const { live, memory } = process
  const agent = process.createAgent()
  const helper = process.createAgent({}, live.child({ scope: { exclude: ['secret'] } }))
  const send = method === 'generate' ? say : sayStreaming
  return {
    canRunScripts: true,
    canStop: true,
    canOverlap: true,
    say: async (text, abortSignal) =>
      void (await send(agent, 'chat-1', text, { ...(abortSignal && { abortSignal }) })),
    takeBack: async turns => {
      const query = { threadId: 'chat-1', perPage: false, hideSignals: false } as const
      const { messages } = await memory.recall(query)
      const questions = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
      await memory.deleteMessages(messages.slice(questions.at(-turns)).map(({ id }) => id))
    },
    fork: async () => {
      await memory.cloneThread({ sourceThreadId: 'chat-1', newThreadId: 'chat-2' })
      return { say: async (text: string) => void (await send(agent, 'chat-2', text)) }
    },
    compact: async () => await live.compact(memory, 'chat-1', 'A summary.'),
    openSubagent: () =>
      Promise.resolve({ say: async (text: string) => void (await send(helper, 'chat-1/helper', text)) }),
    [Symbol.asyncDispose]: async () => await process[Symbol.asyncDispose](),
  }
}
