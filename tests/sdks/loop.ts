import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { openAICompatible } from '@genkit-ai/compat-oai'
import {
  anthropicLoop,
  followToolRunner,
  genkitLoop,
  type LoopConversation,
  type LoopOptions,
  type LoopState,
  type LoopTool,
  type LoopTurn,
  openaiChatLoop,
  openaiResponsesLoop,
} from '@skillstoke/adapters/loop'
import type { SkillRuntime } from '@skillstoke/core'
import { type Genkit, genkit, type MessageData } from 'genkit'
import OpenAI from 'openai'
import { type Harness, ONE_TURN } from './harness.ts'
import type { HostTool, World } from './world.ts'

const MODEL = 'test-model'
const SETTINGS = { model: MODEL, max_tokens: 1024 }

/** How a harness opens a conversation of one model API, and how its loop runs a turn. */
interface LoopParts<Message, Request, Answer> {
  readonly name: string
  readonly open: (
    skills: SkillRuntime,
    options: LoopOptions<Message>,
  ) => LoopConversation<Message, Request, Answer>
  readonly run: (
    world: World,
    turn: LoopTurn<Message, Request, Answer>,
    context: { readonly signal?: AbortSignal },
  ) => Promise<void>
}

export const openaiChatHarness: Harness = createHarness({
  name: 'openai 7 (chat)',
  open: openaiChatLoop<OpenAI.ChatCompletionMessageParam>,
  async run(world, turn, context) {
    const { chat } = createOpenai(world)
    for (;;) {
      const answer = await chat.completions.create({ model: MODEL, ...(await turn.request()) }, context)
      if (!(await turn.answer(answer, context))) return
    }
  },
})

export const openaiResponsesHarness: Harness = createHarness({
  name: 'openai 7 (responses, streaming)',
  open: openaiResponsesLoop<OpenAI.Responses.ResponseInputItem>,
  async run(world, turn, context) {
    const { responses } = createOpenai(world)
    for (;;) {
      const stream = responses.stream({ model: MODEL, ...(await turn.request()) }, context)
      if (!(await turn.answer(await stream.finalResponse(), context))) return
    }
  },
})

export const anthropicHarness: Harness = createHarness({
  name: '@anthropic-ai/sdk 1',
  open: anthropicLoop<Anthropic.MessageParam>,
  async run(world, turn, context) {
    const { messages } = createAnthropic(world)
    for (;;) {
      const answer = await messages.create({ ...SETTINGS, ...(await turn.request()) }, context)
      if (!(await turn.answer(answer, context))) return
    }
  },
})

export const toolRunnerHarness: Harness = createHarness({
  name: '@anthropic-ai/sdk 1 (tool runner)',
  open: anthropicLoop<Anthropic.Beta.BetaMessageParam>,
  async run(world, turn, context) {
    const { beta } = createAnthropic(world)
    const settings = { ...SETTINGS, thread: false as const, stream: true as const }
    const runner = beta.messages.toolRunner({ ...settings, ...(await turn.request()) }, context)
    for await (const stream of followToolRunner(turn, runner)) await stream.finalMessage()
  },
})

export const genkitHarness: Harness = createHarness({
  name: 'genkit 1.42',
  open: genkitLoop<MessageData>,
  async run(world, turn, context) {
    const ai = createGenkit(world)
    const { signal } = context
    const settings = { model: `provider/${MODEL}`, ...(signal && { abortSignal: signal }) }
    for (;;) {
      const { tools, ...request } = await turn.request()
      const dynamicTools = tools.map(tool => ai.dynamicTool(tool))
      const answer = await ai.generate({ ...settings, ...request, tools: dynamicTools })
      if (!(await turn.answer(answer, context))) return
    }
  },
})

export function createGenkit({ server }: World): Genkit {
  const options = { baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 }
  return genkit({ plugins: [openAICompatible({ name: 'provider', ...options })] })
}

export function createOpenai({ server }: World): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
}

export function createAnthropic({ server }: World): Anthropic {
  return new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
}

export function toLoopTool({ name, description, run }: HostTool): LoopTool {
  return { name, description, inputSchema: { type: 'object', properties: {} }, execute: run }
}

function createHarness<Message, Request, Answer>({
  name,
  open,
  run,
}: LoopParts<Message, Request, Answer>): Harness {
  return {
    name,
    limits: { overlap: ONE_TURN },
    async open(world, { scope, commandTools = false }) {
      const skills = await world.createSkills()
      const file = world.stateFolder.at('chat.json')
      const resume = existsSync(file)
        ? (JSON.parse(readFileSync(file, 'utf8')) as LoopState<Message>)
        : undefined
      const options = { commandTools, ...(scope && { scope }), tools: [toLoopTool(world.edit)] }
      const start = (id: string, state = resume): LoopConversation<Message, Request, Answer> =>
        open(skills, { ...options, id, instructions: 'You help.', ...(state && { resume: state }) })
      let chat = start('chat-1')
      /** The state before each turn. */
      const states: LoopState<Message>[] = []
      const say = async (to: typeof chat, text: string, signal?: AbortSignal): Promise<void> => {
        const turn = await to.turn(text)
        await run(world, turn, signal === undefined ? {} : { signal })
        turn.keep()
        writeFileSync(file, JSON.stringify(to.state()))
      }
      return {
        canRunScripts: true,
        canStop: true,
        say: async (text, signal) => {
          states.push(chat.state())
          await say(chat, text, signal)
        },
        takeBack: turns => {
          chat = start('chat-1', states.at(-turns))
          return Promise.resolve()
        },
        fork: () => {
          const copy = start('chat-2', chat.state())
          return Promise.resolve({ say: async (text: string) => await say(copy, text) })
        },
        compact: async () => await chat.compact('A summary.'),
        openSubagent: () => {
          const child = chat.child({ id: 'chat-1/helper', scope: { exclude: ['secret'] } })
          return Promise.resolve({ say: async (text: string) => await say(child, text) })
        },
        async [Symbol.asyncDispose]() {
          chat[Symbol.dispose]()
          await skills.close()
        },
      }
    },
  }
}
