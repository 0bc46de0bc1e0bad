import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { type AiSdkChat, type AiSdkState, aiSdk, toAiTools } from '@skillstoke/adapters/ai-sdk'
import {
  convertToModelMessages,
  experimental_createSteering,
  type ModelMessage,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
} from 'ai'
import { z } from 'zod'
import { type Harness, ONE_TURN } from './harness.ts'
import type { World } from './world.ts'

/** What a host stores of a conversation. */
interface Stored {
  readonly messages: readonly UIMessage[]
  readonly state: AiSdkState<ModelMessage>
}

/** A page with `useChat`, which owns the messages, and its route. */
class Page {
  readonly #world: World
  readonly #chat: AiSdkChat<ModelMessage>
  #messages: readonly UIMessage[]

  constructor(world: World, chat: AiSdkChat<ModelMessage>, messages: readonly UIMessage[] = []) {
    this.#world = world
    this.#chat = chat
    this.#messages = messages
  }

  get stored(): Stored {
    return copy({ messages: this.#messages, state: this.#chat.state() })
  }

  async say(text: string, abortSignal?: AbortSignal): Promise<void> {
    const { edit, server } = this.#world
    const { description, run } = edit
    const own = { edit: tool({ description, inputSchema: z.object({}), execute: run }) }
    const id = `${this.#messages.length}`
    const ui: UIMessage[] = [...copy(this.#messages), { id, role: 'user', parts: [{ type: 'text', text }] }]
    const { session } = this.#chat
    const tools = { ...own, ...toAiTools([...session.tools, ...session.commandTools()]) }
    const messages = await convertToModelMessages(ui, { tools, ignoreIncompleteToolCalls: true })
    const steering = experimental_createSteering()
    const call = await this.#chat.ui(messages, { tools: own, steering })
    let error: unknown
    const result = streamText({
      model: createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' }).chat('test-model'),
      ...call,
      stopWhen: stepCountIs(9),
      maxRetries: 0,
      onError: event => {
        error = event.error
      },
      ...(abortSignal && { abortSignal }),
    })
    const onEnd = (event: { messages: UIMessage[] }): void => {
      this.#messages = event.messages
    }
    for await (const _ of result.toUIMessageStream({ originalMessages: ui, onEnd }));
    if (error !== undefined) throw error
  }

  takeBack(turns: number): void {
    const questions = this.#messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
    this.#messages = this.#messages.slice(0, questions.at(-turns))
  }
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

export const aiSdkPageHarness: Harness = {
  name: 'ai 7, useChat',
  limits: { compaction: 'A page keeps all its messages.', overlap: ONE_TURN },
  async open(world, { scope, commandTools = false }) {
    const skills = await world.createSkills()
    const file = world.stateFolder.at('page.json')
    const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Stored) : undefined
    const options = { id: 'chat-1', instructions: 'You help.', commandTools, ...(scope && { scope }) }
    const chat = aiSdk<ModelMessage>(skills, { ...options, ...(stored && { resume: stored.state }) })
    const page = new Page(world, chat, stored?.messages)
    return {
      canRunScripts: true,
      canStop: true,
      say: async (text, signal) => {
        try {
          await page.say(text, signal)
        } finally {
          writeFileSync(file, JSON.stringify(page.stored))
        }
      },
      openSubagent: () => {
        const child = chat.child({ id: 'chat-1/helper', scope: { exclude: ['secret'] } })
        return Promise.resolve(new Page(world, child))
      },
      takeBack: turns => Promise.resolve(page.takeBack(turns)),
      fork: () => {
        const { messages, state } = page.stored
        return Promise.resolve(
          new Page(world, aiSdk<ModelMessage>(skills, { ...options, id: 'chat-2', resume: state }), messages),
        )
      },
      async [Symbol.asyncDispose]() {
        chat[Symbol.dispose]()
        await skills.close()
      },
    }
  },
}
