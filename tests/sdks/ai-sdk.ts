import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAI as createOpenAI3 } from '@ai-sdk/openai-3'
import { type AiSdkState, aiSdk } from '@skillstoke/adapters/ai-sdk'
import type { SkillSession } from '@skillstoke/core'
import type { ModelMessage } from 'ai'
import * as sdk7 from 'ai'
import * as sdk6 from 'ai-6'
import { z } from 'zod'
import { type Harness, type HarnessConversation, type HarnessOptions, ONE_TURN } from './harness.ts'
import type { World } from './world.ts'

export const aiSdkHarness: Harness = createHarness('ai 7', sdk7, createOpenAI)

// The same program, whose types differ between the versions.
export const aiSdk6Harness: Harness = createHarness(
  'ai 6',
  sdk6 as unknown as typeof sdk7,
  createOpenAI3 as unknown as typeof createOpenAI,
)

/** Creates the harness of one version of the SDK, or of another function in place of `generateText`. */
export function createHarness(
  name: string,
  { generateText, stepCountIs, tool }: typeof sdk7,
  createProvider: typeof createOpenAI,
  /** Returns tools that replace those of the adapter. */
  replaceTools: (session: SkillSession) => sdk7.ToolSet = () => ({}),
): Harness {
  return { name, limits: { overlap: ONE_TURN }, open }

  async function open(
    world: World,
    { scope, commandTools = false }: HarnessOptions,
  ): Promise<HarnessConversation> {
    const skills = await world.createSkills()
    const file = world.stateFolder.at('chat.json')
    const resume = existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as AiSdkState<ModelMessage>)
      : undefined
    const model = createProvider({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const { description, run } = world.edit
    const tools = { edit: tool({ description, inputSchema: z.object({}), execute: run }) }
    const options = {
      id: 'chat-1',
      instructions: 'You help.',
      commandTools,
      ...(scope && { scope }),
      ...(resume && { resume }),
    }
    let chat = aiSdk<ModelMessage>(skills, options)
    /** The state before each turn. */
    const states: AiSdkState<ModelMessage>[] = []
    const say = async (to: typeof chat, text: string, abortSignal?: AbortSignal): Promise<void> => {
      const call = await to.turn(text, { tools })
      const settings = { stopWhen: stepCountIs(9), maxRetries: 0, ...(abortSignal && { abortSignal }) }
      const allTools = { ...call.tools, ...replaceTools(to.session) }
      await to.keep(await generateText({ model, ...call, ...settings, tools: allTools }))
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
        chat = aiSdk(skills, { ...options, resume: states.at(-turns) ?? chat.state() })
        return Promise.resolve()
      },
      fork: () => {
        const copy = aiSdk<ModelMessage>(skills, { ...options, id: 'chat-2', resume: chat.state() })
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
  }
}
