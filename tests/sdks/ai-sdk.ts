import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { type AiSdkState, aiSdk } from '@skillstoke/core/ai-sdk'
import { generateText, type ModelMessage, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import type { Harness } from './harness.ts'

export const aiSdkHarness: Harness = {
  name: 'ai 7',
  async open(world, { scope }) {
    const skills = await world.createSkills()
    const file = world.stateFolder.at('chat.json')
    const resume = existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as AiSdkState<ModelMessage>)
      : undefined
    const model = createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const { description, run } = world.edit
    const tools = { edit: tool({ description, inputSchema: z.object({}), execute: run }) }
    const options = {
      id: 'chat-1',
      instructions: 'You help.',
      ...(scope && { scope }),
      ...(resume && { resume }),
    }
    const chat = aiSdk<ModelMessage>(skills, options)
    const say = async (to: typeof chat, text: string): Promise<void> => {
      const call = await to.turn(text, { tools })
      await to.keep(await generateText({ model, ...call, stopWhen: stepCountIs(9), maxRetries: 0 }))
      writeFileSync(file, JSON.stringify(to.state()))
    }
    return {
      canRunScripts: true,
      say: async text => await say(chat, text),
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
